import { type Call, type CallOptions, type GatehouseFetch, readCall } from './call.ts';
import { startDeadline } from './deadline.ts';
import { platformDigests } from './digests.ts';
import { isRecord, parseEnvelope } from './envelope.ts';
import { sendWithRetries } from './send-with-retries.ts';
import { createServerClock, serverTimeOf } from './server-clock.ts';
import type { ReceivedReply, SignatureVersion, SignedRequest } from './signature-version.ts';
import { createSignatureVersion1 } from './signature-version-1.ts';
import { createSignatureVersion2 } from './signature-version-2.ts';
import { toVerifiedResponse, unverifiedFailure } from './verified-response.ts';

export interface SignedFetchOptions extends CallOptions {
  readonly clientId: string;
  readonly secureKey: string;
  /** Default: 2. Use 1 only for an installation or a client that requires it. */
  readonly version?: 1 | 2;
  /** The digest of version 1 that is registered for the client. Default: SHA-256. */
  readonly digest?: 'SHA-256' | 'MD5';
}

/** A request that was sent, and its reply. */
interface Exchange extends ReceivedReply {
  readonly signed: SignedRequest;
  readonly sentAt: number;
  readonly receivedAt: number;
}

/**
 * A `fetch` that signs each request and resolves only to replies that the gateway signed. Every
 * other outcome is a GatehouseError.
 */
export function createSignedFetch(options: SignedFetchOptions): GatehouseFetch {
  const { fetch: send = globalThis.fetch, deadlineMilliseconds } = options;
  const gateway = new URL(options.gateway);
  const version = signatureVersion(options);
  const clock = createServerClock();

  async function exchange(call: Call, body: SignedBody, nonce: string, signal: AbortSignal) {
    const { url, path, method, headers } = call;
    const query = url.search.slice(1);
    const timestamp = clock.now();
    const signed = await version.sign({ path, query, method, ...body, nonce, timestamp });
    for (const [name, value] of Object.entries(signed.headers)) {
      headers.set(name, value);
    }
    const sentAt = Date.now();
    const sentBody =
      call.body === undefined ? {} : { body: body.body as string | Uint8Array<ArrayBuffer> };
    const response = await send(url, {
      ...call.init,
      ...sentBody,
      method,
      headers,
      signal,
      redirect: 'manual',
    });
    const receivedAt = Date.now();
    const bytes = new Uint8Array(await response.arrayBuffer());
    return { signed, response, bytes, sentAt, receivedAt };
  }

  /** The reply to a rejected timestamp has no signature, so a correction must prove itself. */
  async function exchangeTimely(send: () => Promise<Exchange>): Promise<Exchange> {
    const rejected = await send();
    const serverTime = clockRejection(rejected);
    if (serverTime === undefined) {
      return rejected;
    }
    const forget = clock.learn(serverTime, rejected.sentAt, rejected.receivedAt);
    let isProven = false;
    try {
      const repeated = await send();
      isProven = await repeated.signed.isVerified(repeated);
      return repeated;
    } finally {
      if (!isProven) {
        forget();
      }
    }
  }

  return async (input, init) => {
    const call = await readCall(gateway, input, init);
    const body = await readSignedBody(call);
    const deadline = startDeadline(deadlineMilliseconds, call.init.signal);
    try {
      // Repeating a request with its nonce cannot take effect twice. A lost read needs a new nonce.
      const callNonce = call.isSafe ? undefined : crypto.randomUUID();
      const nonce = () => callNonce ?? crypto.randomUUID();
      let last: Exchange | undefined;
      const response = await sendWithRetries(
        async (signal) => {
          last = await exchangeTimely(() => exchange(call, body, nonce(), signal));
          return last.response;
        },
        { deadline, isSafe: call.isSafe, repeatsLimited: call.isSafe || version.hasNonce },
      );
      if (last === undefined || !(await last.signed.isVerified(last))) {
        throw unverifiedFailure(response, last?.bytes);
      }
      return toVerifiedResponse(last);
    } finally {
      deadline.clear();
    }
  };
}

function signatureVersion(options: SignedFetchOptions): SignatureVersion {
  const { clientId, secureKey, version = 2, digest: algorithm = 'SHA-256' } = options;
  return version === 1
    ? createSignatureVersion1({ clientId, secureKey, algorithm }, platformDigests())
    : createSignatureVersion2({ clientId, secureKey }, platformDigests());
}

interface SignedBody {
  readonly body: string | Uint8Array;
  readonly contentType: string;
}

/** Sets the content type that `fetch` would add, because version 2 signs it. */
async function readSignedBody({ body, headers }: Call): Promise<SignedBody> {
  if (body === undefined) {
    return { body: '', contentType: headers.get('content-type') ?? '' };
  }
  const source = new Response(body);
  const type = headers.get('content-type') ?? source.headers.get('content-type');
  if (type !== null) {
    headers.set('content-type', type);
  }
  return {
    body: typeof body === 'string' ? body : new Uint8Array(await source.arrayBuffer()),
    contentType: type ?? '',
  };
}

/** The time of the gateway, if it rejected the timestamp. Browsers may not read `Date`. */
function clockRejection({ response, bytes }: ReceivedReply): number | undefined {
  if (response.status !== 401) {
    return undefined;
  }
  const envelope = parseEnvelope(401, new TextDecoder().decode(bytes));
  if (envelope?.code !== 'timestamp_out_of_range') {
    return undefined;
  }
  const { result } = envelope;
  const stated = isRecord(result) ? result.serverTime : undefined;
  return serverTimeOf(response) ?? (typeof stated === 'number' ? stated : undefined);
}
