import {
  AmbiguousTextError,
  createVersion1Signer,
  createVersion2Signer,
  isRecord,
  parseEnvelope,
  type Signer,
} from '@gatehouse/signing/core';
import {
  assertOption,
  type CallOptions,
  type GatehouseFetch,
  readAddress,
  readCall,
} from './call.ts';
import { platformDigests } from './digests.ts';
import { failureOf, GatehouseError, requestIdOf } from './gatehouse-error.ts';
import { type Deadline, sendWithRetries, startDeadline } from './send-with-retries.ts';

export interface SignedFetchOptions extends CallOptions {
  readonly clientId: string;
  readonly secureKey: string;
  /** Default: 2. Use 1 only for an installation or a client that requires it. */
  readonly version?: 1 | 2;
  /** The digest of version 1 that is registered for the client. Default: SHA-256. */
  readonly digest?: 'SHA-256' | 'MD5';
}

/** The gateway itself answers a GET of this path, with a signed 405. It does no harm at any time. */
const PROOF_PATH = '/api/v1/token';
/** If the clock is further off, a person must set it. */
const MAXIMUM_CORRECTION_SECONDS = 30 * 24 * 60 * 60;

const STATUSES_WITHOUT_BODY = new Set([204, 205, 304]);
/** What the gateway replies, unsigned, when it rejects a request or cannot verify it. */
const REJECTIONS = new Set([
  'ambiguous_request',
  'headers_too_large',
  'internal_server_error',
  'invalid_signature',
  'missing_signature',
  'multiple_credentials',
  'payload_too_large',
  'replayed_request',
  'request_timeout',
  'service_unavailable',
  'timestamp_out_of_range',
  'too_many_requests',
  'unauthorized',
  'unsupported_media_type',
]);

/**
 * A `fetch` that signs each request and resolves only to replies that the gateway signed. Every
 * other outcome is a GatehouseError.
 */
export function createSignedFetch(options: SignedFetchOptions): GatehouseFetch {
  assertOption(options, 'clientId');
  assertOption(options, 'secureKey');
  const { fetch: send = globalThis.fetch, deadlineMilliseconds, digest = 'SHA-256' } = options;
  const gateway = readAddress(options, 'gateway');
  const version2 = createVersion2Signer(options, platformDigests());
  const version =
    options.version === 1
      ? createVersion1Signer({ ...options, algorithm: digest }, platformDigests())
      : version2;
  let now = () => Date.now();
  /** A signed reply shows that the time of its request was not ahead of the gateway. */
  let isProven = false;

  /** Anyone can state a time in an unsigned reply, so only a harmless GET is signed with it. */
  async function proveTime(init: RequestInit, deadline: Deadline, stated?: number): Promise<void> {
    const get = { ...init, method: 'GET', headers: {}, body: null };
    const proof = await readSignedCall(gateway, PROOF_PATH, get);
    const time = stated === undefined ? now : () => stated;
    const reply = await sendSigned(proof, deadline, version2, time, send);
    const other = statedTime(reply);
    if (stated === undefined && other !== undefined) {
      return proveTime(init, deadline, other);
    }
    if (!reply.isVerified) {
      throw unverifiedFailure(reply);
    }
    if (stated !== undefined) {
      // Never ahead of the gateway, and independent of later changes of the local clock.
      const start = Number(reply.response.headers.get('x-timestamp')) - performance.now();
      now = () => Math.floor(start + performance.now());
    }
    isProven = true;
  }

  return async (input, init) => {
    const call = await readSignedCall(gateway, input, init);
    const deadline = startDeadline(deadlineMilliseconds, call.init.signal);
    const exchange = () => sendSigned(call, deadline, version, now, send);
    try {
      if (!isProven && !call.isSafe) {
        await proveTime(call.init, deadline);
      }
      let reply = await exchange();
      const stated = statedTime(reply);
      if (stated !== undefined) {
        await proveTime(call.init, deadline, stated);
        // A forged rejection can hide that the request took effect.
        reply = call.isSafe ? await exchange() : reply;
      }
      if (!reply.isVerified) {
        throw unverifiedFailure(reply);
      }
      isProven = true;
      return toVerifiedResponse(reply);
    } finally {
      deadline.clear();
    }
  };
}

/** Sets the content type that `fetch` would add, because version 2 signs it. */
async function readSignedCall(...args: Parameters<typeof readCall>) {
  const call = await readCall(...args);
  const { body, headers } = call;
  const given = headers.get('content-type');
  if (body === undefined) {
    return { ...call, signedBody: '', contentType: given ?? '' };
  }
  const source = new Response(body);
  const contentType = given ?? source.headers.get('content-type') ?? '';
  if (contentType !== '') {
    headers.set('content-type', contentType);
  }
  const signedBody = typeof body === 'string' ? body : new Uint8Array(await source.arrayBuffer());
  return { ...call, signedBody, contentType };
}

/** A reply, and whether the gateway signed it as the reply to the request. */
type Exchange = Awaited<ReturnType<typeof sendSigned>>;

/** Each attempt has its own nonce. */
async function sendSigned(
  call: Awaited<ReturnType<typeof readSignedCall>>,
  deadline: Deadline,
  scheme: Signer,
  time: () => number,
  send: typeof fetch,
) {
  const { url, path, method, headers, isSafe, signedBody, contentType } = call;
  const parts = { path, query: url.search.slice(1), method, contentType, body: signedBody };
  const body = call.body === undefined ? null : signedBody;
  return sendWithRetries(
    async (signal) => {
      const nonce = crypto.randomUUID();
      const signed = await scheme
        .sign({ ...parts, nonce, timestamp: time() })
        .catch(rejectAmbiguous);
      for (const [name, value] of Object.entries(signed.headers)) {
        headers.set(name, value);
      }
      const sent = { ...call.init, method, headers, body, signal, redirect: 'manual' } as const;
      const response = await send(url, sent);
      const { status } = response;
      const bytes = new Uint8Array(await response.arrayBuffer());
      const reply = { status, headers: response.headers, bytes };
      return { response, bytes, isVerified: await signed.isVerified(reply) };
    },
    {
      ...{ deadline, url, isSafe },
      // A forged 429 can hide that the request took effect.
      repeatsLimited: ({ isVerified }) => isSafe || (scheme.hasNonce && isVerified),
    },
  );
}

function rejectAmbiguous(error: unknown): never {
  if (error instanceof AmbiguousTextError) {
    throw new GatehouseError('ambiguous_request', error.message, {
      hint: 'Use signature version 2, which signs the request as sent.',
      cause: error,
    });
  }
  throw error;
}

/** The time of the gateway, according to an unsigned reply that rejects that of the request. */
function statedTime({ response, bytes, isVerified }: Exchange): number | undefined {
  const { status } = response;
  const envelope = parseEnvelope(status, new TextDecoder().decode(bytes));
  const time = isRecord(envelope?.result) ? envelope.result.serverTime : undefined;
  const code = 'timestamp_out_of_range';
  if (isVerified || envelope?.code !== code || typeof time !== 'number') {
    return undefined;
  }
  const seconds = Math.round(Math.abs(time - Date.now()) / 1000);
  if (seconds > MAXIMUM_CORRECTION_SECONDS) {
    throw new GatehouseError(code, `The clock differs from the gateway's by ${seconds} s.`, {
      status,
    });
  }
  return time;
}

function toVerifiedResponse({ response, bytes }: Exchange): Response {
  const { status, statusText, headers, url } = response;
  const body = STATUSES_WITHOUT_BODY.has(status) ? null : bytes;
  const verified = new Response(body, { status, statusText, headers });
  return Object.defineProperty(verified, 'url', { value: url });
}

/**
 * An unsigned reply can come from anybody, so the caller learns its code only if the code claims
 * nothing about the resource. A forged `not_found` would look like an answer.
 */
function unverifiedFailure({ response, bytes }: Exchange): GatehouseError {
  const envelope = parseEnvelope(response.status, new TextDecoder().decode(bytes));
  if (envelope !== undefined && REJECTIONS.has(envelope.code)) {
    return failureOf(response, envelope);
  }
  return new GatehouseError(
    'unverified_reply',
    'The reply has no valid signature of the gateway. It may be forged.',
    {
      status: response.status,
      requestId: requestIdOf(response),
      hint: 'Check the address of the gateway, and whether a proxy changes or writes replies.',
    },
  );
}
