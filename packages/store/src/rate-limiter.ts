import { LRUCache } from 'lru-cache';
import { type Counter, type Store, StoreFullError } from './store.ts';

export interface RateLimit {
  /** May change at any time. */
  readonly requests: number;
  readonly windowSeconds: number;
}

export interface Verdict {
  readonly allowed: boolean;
  /** The requests left in the window, as far as this process knows. */
  readonly remaining: number;
  /** Epoch milliseconds. */
  readonly resetsAt: number;
}

export type RateLimiter = ReturnType<typeof createRateLimiter>;

interface Lease {
  permits: number;
  /** How many permits to ask for next time. */
  size: number;
  /** The count of the window, as of the store's last reply. */
  count: number;
  resetsAt: number;
  waiting: number;
  refill: Promise<void> | undefined;
}

/**
 * The largest lease, as a share of the limit. Other processes cannot use the permits of a lease.
 */
const LARGEST_LEASE = 1 / 32;
const MAXIMUM_ENTRIES = 10_000;

/**
 * Counts the requests of all processes in the store. No more requests than the limit pass in a
 * window. To avoid a round trip for each request, a process takes permits in leases: one permit at
 * first, then twice as many each time they run out within a window. The error is on the safe side:
 * each process may leave up to 1/32 of the limit unused.
 *
 * A full store cannot count, but must not block requests that write nothing. Each process then
 * counts only its own requests, so each lets the whole limit pass. If the store does not answer,
 * `take` throws.
 *
 * @param name identifies the limit. Processes that use the same name share it
 */
export function createRateLimiter(
  name: string,
  limit: RateLimit,
  dependencies: { readonly store: Store; readonly now: () => number },
) {
  const { store, now } = dependencies;
  // An evicted lease lets no more requests pass, because the store has counted its permits.
  const leases = new LRUCache<string, Lease>({ max: MAXIMUM_ENTRIES });
  function leaseOf(key: string): Lease {
    const none = { permits: 0, size: 1, count: 0, resetsAt: 0, waiting: 0, refill: undefined };
    const lease = leases.get(key) ?? none;
    leases.set(key, lease);
    return lease;
  }

  async function refill(key: string, lease: Lease): Promise<void> {
    const { requests, windowSeconds } = limit;
    const isNewWindow = now() >= lease.resetsAt;
    const amount = Math.max(lease.size, lease.waiting);
    const { count, resetsAt } = await store
      .increment(`rate:${name}:${key}`, windowSeconds, amount)
      .catch((error: unknown): Counter => {
        if (!(error instanceof StoreFullError)) {
          throw error;
        }
        return isNewWindow
          ? { count: amount, resetsAt: now() + windowSeconds * 1000 }
          : { count: lease.count + amount, resetsAt: lease.resetsAt };
      });
    const granted = Math.max(0, Math.min(amount, requests - (count - amount)));
    const largestLease = Math.max(1, Math.floor(requests * LARGEST_LEASE));
    const next = isNewWindow ? lease.size / 2 : lease.size * 2;
    lease.permits = isNewWindow ? granted : lease.permits + granted;
    lease.count = count;
    lease.resetsAt = resetsAt;
    lease.size = Math.max(1, Math.min(largestLease, Math.floor(next)));
  }

  async function takeFromStore(key: string): Promise<Verdict> {
    const lease = leaseOf(key);
    for (;;) {
      lease.waiting += 1;
      lease.refill ??= refill(key, lease).finally(() => {
        lease.refill = undefined;
        lease.waiting = 0;
      });
      await lease.refill;
      // The store's reply counts, even if the window has ended by the clock of this process.
      const verdict = takePermit(lease, limit);
      if (verdict !== undefined) {
        return verdict;
      }
    }
  }

  return {
    limit,
    /**
     * Takes one permit. It asks the store only if no lease is left, and throws if the store is
     * unavailable, but not if it is full.
     */
    take(key: string): Verdict | Promise<Verdict> {
      const lease = leases.get(key);
      const isCurrent = lease !== undefined && now() < lease.resetsAt;
      return (isCurrent ? takePermit(lease, limit) : undefined) ?? takeFromStore(key);
    },
    /** The rejection that `take` would return, if this process already knows it. */
    knownRejection(key: string): Verdict | undefined {
      const lease = leases.get(key);
      const isUsedUp = lease?.permits === 0 && now() < lease.resetsAt;
      return isUsedUp ? takePermit(lease, limit) : undefined;
    },
  };
}

/** @returns undefined if the lease is used up, but the store may have permits left */
function takePermit(lease: Lease, { requests }: RateLimit): Verdict | undefined {
  const { resetsAt } = lease;
  const left = Math.max(0, requests - lease.count);
  if (lease.permits > 0) {
    lease.permits -= 1;
    return { allowed: true, remaining: lease.permits + left, resetsAt };
  }
  return left === 0 ? { allowed: false, remaining: 0, resetsAt } : undefined;
}

/** The fields of `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-08). */

/** @param name a quoted string, which both headers use */
export function limitPolicy(name: string, { requests, windowSeconds }: RateLimit): string {
  return `${name};q=${requests};w=${windowSeconds}`;
}

export function limitState(name: string, verdict: Verdict, now: number): string {
  return `${name};r=${verdict.remaining};t=${secondsLeft(verdict, now)}`;
}

/** The value of `Retry-After` for a rejected request. */
export function retryAfter(verdict: Verdict, now: number): string {
  return String(Math.max(1, secondsLeft(verdict, now)));
}

function secondsLeft({ resetsAt }: Verdict, now: number): number {
  return Math.max(0, Math.ceil((resetsAt - now) / 1000));
}
