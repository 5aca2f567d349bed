import { isRecord, parseEnvelope } from '@gatehouse/signing/core';
import { type CallOptions, type GatehouseFetch, readCall } from './call.ts';
import { startDeadline, untilAborted } from './deadline.ts';
import { readAddress } from './options.ts';
import { sendWithRetries } from './send-with-retries.ts';
import type { TokenCache } from './token-cache.ts';

/** A `fetch` that sends a token in a header, and gets a new one if the gateway rejects it. */
export function createCredentialFetch(
  options: CallOptions,
  header: { readonly name: string; readonly prefix: string },
  tokens: TokenCache,
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
