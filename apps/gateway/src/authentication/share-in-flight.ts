import type { AccessTokenVerifier, Principal } from '@gatehouse/identity';

/** A verification that takes longer than this is not joined any more: the store is slow, and its answer old. */
const JOINABLE_MILLISECONDS = 20;

/**
 * Requests that bring a token while it is being verified share the one verification. A busy token costs a
 * store read for every round trip instead of one for every request; nothing is remembered beyond its answer,
 * so that a revocation, or a store that is away, shows at the next request.
 */
export function shareInFlight(verify: AccessTokenVerifier): AccessTokenVerifier {
  const running = new Map<
    string,
    { readonly startedAt: number; readonly answer: Promise<Principal | undefined> }
  >();
  return (token) => {
    const startedAt = performance.now();
    const joinable = running.get(token);
    if (joinable !== undefined && startedAt - joinable.startedAt < JOINABLE_MILLISECONDS) {
      return joinable.answer;
    }
    const forget = () => {
      if (running.get(token) === entry) {
        running.delete(token);
      }
    };
    const entry = { startedAt, answer: verify(token) };
    running.set(token, entry);
    entry.answer.then(forget, forget);
    return entry.answer;
  };
}
