import { LRUCache } from 'lru-cache';
import { type Counter, type Store, StoreFullError } from './port/store.ts';

export interface RateLimit {
  readonly requests: number;
  readonly windowSeconds: number;
}

export interface Verdict {
  readonly allowed: boolean;
  /** What is left of the window, as far as this process knows. */
  readonly remaining: number;
  /** Epoch milliseconds. */
  readonly resetsAt: number;
}

export interface RateLimiter {
  readonly limit: RateLimit;
  /** Takes one permit. Only where no lease is left does it ask the store, which may throw. One that is full does not. */
  take(key: string): Verdict | Promise<Verdict>;
  /** The refusal that `take` would give, if this process already knows it. */
  knownRefusal(key: string): Verdict | undefined;
}

interface Lease {
  permits: number;
  /** How many permits to ask for next time. */
  size: number;
  /** What the store had left after the last reply. */
  left: number;
  /** The count of the window, as of the last reply. */
  count: number;
  resetsAt: number;
  waiting: number;
  refill: Promise<void> | undefined;
}

/** A lease is at most this part of a limit: what one process holds and does not use, others cannot. */
const LARGEST_LEASE = 1 / 32;
const MAXIMUM_ENTRIES = 50_000;

/**
 * Counts in the store, for all processes together: never more than the limit pass in a window. So that a
 * request does not cost a round trip, each process takes permits in leases: one at first, twice as many each
 * time they run out within a window. The error is on the safe side: of the limit, up to 1/32 a process may go unused.
 *
 * A store that is full cannot count and must not stop callers who write nothing: this process then counts by itself, so
 * that each process lets the whole limit pass. A store that does not answer is an error as before.
 *
 * @param name which limit this is: processes that use the same one share it
 */
export function createRateLimiter(
  name: string,
  limit: RateLimit,
  dependencies: { readonly store: Store; readonly now: () => number },
): RateLimiter {
  const { store, now } = dependencies;
  // A forgotten lease lets no more requests pass: the store has counted its permits.
  const leases = new LRUCache<string, Lease>({ max: MAXIMUM_ENTRIES });
  const largestLease = Math.max(1, Math.floor(limit.requests * LARGEST_LEASE));

  function leaseOf(key: string): Lease {
    let lease = leases.get(key);
    if (lease === undefined) {
      lease = {
        permits: 0,
        size: 1,
        left: 0,
        count: 0,
        resetsAt: 0,
        waiting: 0,
        refill: undefined,
      };
      leases.set(key, lease);
    }
    return lease;
  }

  async function refill(key: string, lease: Lease): Promise<void> {
    const isNewWindow = now() >= lease.resetsAt;
    const amount = Math.max(lease.size, lease.waiting);
    const counter = await store
      .increment(`rate:${name}:${key}`, limit.windowSeconds, amount)
      .catch((error: unknown) => {
        if (error instanceof StoreFullError) {
          return countHere(lease, { amount, isNewWindow });
        }
        throw error;
      });
    renew(lease, counter, { amount, isNewWindow, largestLease, requests: limit.requests });
  }

  function countHere(
    lease: Lease,
    { amount, isNewWindow }: { readonly amount: number; readonly isNewWindow: boolean },
  ): Counter {
    return isNewWindow
      ? { count: amount, resetsAt: now() + limit.windowSeconds * 1000 }
      : { count: lease.count + amount, resetsAt: lease.resetsAt };
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
      // Whatever the clocks say: what the store has just granted or refused counts.
      const verdict = takePermit(lease);
      if (verdict !== undefined) {
        return verdict;
      }
    }
  }

  return {
    limit,
    take(key) {
      const lease = leases.get(key);
      return (lease && takeLocally(lease, now())) ?? takeFromStore(key);
    },
    knownRefusal(key) {
      const lease = leases.get(key);
      return lease !== undefined && lease.permits === 0 ? takeLocally(lease, now()) : undefined;
    },
  };
}

function takeLocally(lease: Lease, now: number): Verdict | undefined {
  return now < lease.resetsAt ? takePermit(lease) : undefined;
}

/** Undefined: none is left here, but perhaps in the store. */
function takePermit(lease: Lease): Verdict | undefined {
  const { resetsAt } = lease;
  if (lease.permits > 0) {
    lease.permits -= 1;
    return { allowed: true, remaining: lease.permits + lease.left, resetsAt };
  }
  return lease.left === 0 ? { allowed: false, remaining: 0, resetsAt } : undefined;
}

function renew(
  lease: Lease,
  { count, resetsAt }: Counter,
  {
    amount,
    isNewWindow,
    largestLease,
    requests,
  }: Readonly<Record<'amount' | 'largestLease' | 'requests', number>> & {
    readonly isNewWindow: boolean;
  },
): void {
  const before = count - amount;
  const granted = Math.max(0, Math.min(amount, requests - before));
  lease.permits = isNewWindow ? granted : lease.permits + granted;
  lease.left = Math.max(0, requests - count);
  lease.count = count;
  lease.resetsAt = resetsAt;
  const next = isNewWindow ? lease.size / 2 : lease.size * 2;
  lease.size = Math.max(1, Math.min(largestLease, Math.floor(next)));
}
