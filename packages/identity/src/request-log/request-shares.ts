import type { Store } from '@gatehouse/store';
import { LRUCache } from 'lru-cache';
import { type SharedTrail, shareOf } from './request-trails.ts';

const HOUR_SECONDS = 60 * 60;
const MAXIMUM_REMEMBERED = 10_000;

/** Returns how many of the entries the owner may add to the trail now. All processes share it. */
export type TakeShare = (trail: SharedTrail, owner: string, entries: number) => Promise<number>;

/**
 * Prevents a noisy client or address group from displacing the entries of others: its share of each
 * hour fills at most half of a trail within the retention time.
 */
export function createRequestShares(dependencies: {
  readonly store: Pick<Store, 'increment'>;
  readonly now: () => number;
}): TakeShare {
  const { store, now } = dependencies;
  /** When the share of an exhausted owner resets. Until then, its entries cost no store operation. */
  const usedUp = new LRUCache<string, number>({ max: MAXIMUM_REMEMBERED });

  return async (trail, owner, entries) => {
    const key = `request-share:${trail}:${owner}`;
    if ((usedUp.get(key) ?? 0) > now()) {
      return 0;
    }
    const { count, resetsAt } = await store.increment(key, HOUR_SECONDS, entries);
    const left = shareOf(trail) - (count - entries);
    if (left <= entries) {
      usedUp.set(key, resetsAt);
    }
    return Math.max(0, Math.min(entries, left));
  };
}
