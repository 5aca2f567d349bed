import type { Store } from '@gatehouse/store';
import { LRUCache } from 'lru-cache';
import { type SharedTrail, shareOf } from './request-trails.ts';

const HOUR_SECONDS = 60 * 60;
const MAXIMUM_REMEMBERED = 10_000;

export interface RequestShares {
  /** Returns how many of the entries the owner may add to the trail now, of all processes. */
  take(trail: SharedTrail, owner: string, entries: number): Promise<number>;
  /** Whether the share is known to be used up. Costs no store operation. */
  isUsedUp(trail: SharedTrail, owner: string): boolean;
}

/**
 * Prevents a noisy client or address group from displacing the entries of others: its share of each
 * hour fills at most half of a trail within the retention time.
 */
export function createRequestShares(dependencies: {
  readonly store: Pick<Store, 'increment'>;
  readonly now: () => number;
}): RequestShares {
  const { store, now } = dependencies;
  /** When the share of an exhausted owner resets. */
  const usedUp = new LRUCache<string, number>({ max: MAXIMUM_REMEMBERED });

  const keyOf = (trail: SharedTrail, owner: string) => `request-share:${trail}:${owner}`;
  const isUsedUp = (trail: SharedTrail, owner: string) =>
    (usedUp.get(keyOf(trail, owner)) ?? 0) > now();

  return {
    isUsedUp,
    async take(trail, owner, entries) {
      if (isUsedUp(trail, owner)) {
        return 0;
      }
      const key = keyOf(trail, owner);
      const { count, resetsAt } = await store.increment(key, HOUR_SECONDS, entries);
      const left = shareOf(trail) - (count - entries);
      if (left <= entries) {
        usedUp.set(key, resetsAt);
      }
      return Math.max(0, Math.min(entries, left));
    },
  };
}
