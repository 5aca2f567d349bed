import type { AccessTokenVerifier, Principal } from '@gatehouse/identity';

/** A verification that takes longer than this is not joined any more: the store is slow, and its answer old. */
const JOINABLE_MILLISECONDS = 20;

/**
 * Requests that bring a token while it is being verified share the one verification. A busy token costs a
 * store read for every round trip instead of one for every request; nothing is remembered beyond its answer,
 * so that a revocation, or a store that is away, shows at the next request.
 */
export function shareInFlight(verify: AccessTokenVerifier): AccessTokenVerifier {
  // Two generations, and nothing is taken out of either: V8 replaces the table of a Map in which keys come and go
  // and links the old one to the new, so that the collector carries all of them along.
  let young = new Map<string, Verification>();
  let former = young;
  let bornAt = 0;

  return (token) => {
    const now = performance.now();
    if (now - bornAt >= JOINABLE_MILLISECONDS) {
      former = young;
      young = new Map();
      bornAt = now;
    }
    const joinable = young.get(token) ?? former.get(token);
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
