import type { Caller, VerifiedToken, VerifyInternalToken } from './internal-token.ts';

export interface VerifiedTokenCacheOptions {
  readonly capacity: number;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** @throws the errors of `VerifyInternalToken` */
export type IdentifyCaller = (token: string) => Promise<Caller>;

/**
 * Caches verified tokens until they expire, because the gateway sends each token many times.
 * Invalid tokens are not cached, so an attacker cannot evict entries or fill the memory.
 */
export function rememberVerifiedTokens(
  verify: VerifyInternalToken,
  { capacity, now }: VerifiedTokenCacheOptions,
): IdentifyCaller {
  const verified = new Map<string, VerifiedToken>();
  return async (token) => {
    const known = verified.get(token);
    if (known !== undefined && known.expiresAt > now()) {
      return known.caller;
    }
    verified.delete(token);
    const fresh = await verify(token);
    if (verified.size >= capacity) {
      const [oldest] = verified.keys();
      verified.delete(oldest ?? token);
    }
    verified.set(token, fresh);
    return fresh.caller;
  };
}
