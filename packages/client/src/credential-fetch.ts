import { isRecord, parseEnvelope } from '@gatehouse/signing/core';
import { type CallOptions, type GatehouseFetch, readAddress, readCall } from './call.ts';
import { sendWithRetries, startDeadline, untilAborted } from './send-with-retries.ts';

const SECOND = 1000;
const MAXIMUM_RENEWAL_LEAD_MILLISECONDS = 60 * SECOND;
const RENEWAL_PAUSE_MILLISECONDS = SECOND;

export interface IssuedToken {
  readonly value: string;
  readonly expiresInSeconds: number;
}

/** A `fetch` that sends a token in a header, and gets a new one if the gateway rejects it. */
export function createCredentialFetch(
  options: CallOptions,
  header: { readonly name: string; readonly prefix: string },
  tokens: ReturnType<typeof createTokenCache>,
): GatehouseFetch {
  const { fetch: send = globalThis.fetch, deadlineMilliseconds } = options;
  const gateway = readAddress(options, 'gateway');
  return async (input, init) => {
    const call = await readCall(gateway, input, init);
    const { url, method, headers, body, isSafe } = call;
    const deadline = startDeadline(deadlineMilliseconds, call.init.signal);
    const isReplayable = !(body instanceof ReadableStream);
    /** A token in the cache needs no wait. */
    const currentToken = () => {
      const token = tokens.get();
      return typeof token === 'string' ? token : untilAborted(token, deadline.signal);
    };
    const sendWith = async (token: string) => {
      headers.set(header.name, header.prefix + token);
      const init = { ...call.init, method, headers, redirect: 'manual' } as const;
      const { response } = await sendWithRetries(
        async (signal) => ({ response: await send(url, { ...init, signal }) }),
        { deadline, url, isSafe, repeatsLimited: () => isReplayable },
      );
      return response;
    };
    try {
      const token = await currentToken();
      const response = await sendWith(token);
      if (response.status !== 401 || !isReplayable || !(await isExpired(response))) {
        return response;
      }
      await response.body?.cancel();
      tokens.drop(token);
      return await sendWith(await currentToken());
    } finally {
      deadline.clear();
    }
  };
}

/** The gateway checks the token first, so the request did not take effect. */
async function isExpired(response: Response): Promise<boolean> {
  const envelope = parseEnvelope(response.status, await response.clone().text());
  return isRecord(envelope?.result) && envelope.result.value === 'expired';
}

/** Requests a token when it is needed, once for all waiting calls, and renews it early. */
export function createTokenCache(request: () => Promise<IssuedToken>) {
  let current: { readonly value: string; readonly expiresAt: number; renewAt: number } | undefined;
  let pending: Promise<string> | undefined;

  async function renew(): Promise<string> {
    const requestedAt = performance.now();
    const { value, expiresInSeconds } = await request();
    const lifetime = expiresInSeconds * SECOND;
    const lead = Math.min(lifetime / 10, MAXIMUM_RENEWAL_LEAD_MILLISECONDS);
    const expiresAt = requestedAt + lifetime;
    current = { value, expiresAt, renewAt: expiresAt - lead };
    return value;
  }

  return {
    get(): string | Promise<string> {
      const now = performance.now();
      if (current !== undefined && now < current.renewAt) {
        return current.value;
      }
      pending ??= renew().finally(() => {
        pending = undefined;
      });
      if (current === undefined || now >= current.expiresAt) {
        return pending;
      }
      // The token is still valid, so no call waits for its renewal, or fails with it.
      const renewed = current;
      pending.catch(() => {
        renewed.renewAt = performance.now() + RENEWAL_PAUSE_MILLISECONDS;
      });
      return current.value;
    },
    /** Forgets a token that the gateway rejected, unless it was replaced already. */
    drop(value: string): void {
      if (current?.value === value) {
        current = undefined;
      }
    },
  };
}
