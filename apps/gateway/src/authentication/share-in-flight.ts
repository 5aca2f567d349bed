import type { AccessTokenVerifier, Principal } from '@gatehouse/identity';

/** A longer verification is not shared: the store is slow, and its result may be outdated. */
const JOINABLE_MILLISECONDS = 20;

/**
 * Concurrent requests with the same token share one verification. A busy token costs one store read
 * per round trip instead of one per request. The result is not cached, so the next request notices
 * a revocation or an unavailable store.
 */
export function shareInFlight(verify: AccessTokenVerifier): AccessTokenVerifier {
  // Two generations of maps, whose entries are never deleted. Constant deletion makes V8 chain old
  // hash tables, which the garbage collector must then traverse.
  let young = new Map<string, Verification>();
  let old = young;
  let startedAt = 0;

  return (token) => {
    const now = performance.now();
    if (now - startedAt >= JOINABLE_MILLISECONDS) {
      old = young;
      young = new Map();
      startedAt = now;
    }
    const joinable = young.get(token) ?? old.get(token);
    if (joinable?.isRunning && now - joinable.startedAt < JOINABLE_MILLISECONDS) {
      return joinable.answer;
    }
    const verification = new Verification(now, verify(token));
    young.set(token, verification);
    return verification.answer;
  };
}

class Verification {
  readonly startedAt: number;
  readonly answer: Promise<Principal | undefined>;
  isRunning = true;

  constructor(startedAt: number, answer: Promise<Principal | undefined>) {
    this.startedAt = startedAt;
    this.answer = answer;
    const end = () => {
      this.isRunning = false;
    };
    answer.then(end, end);
  }
}
