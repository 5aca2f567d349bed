import type { Store } from '@gatehouse/store';
import type { Store as RateLimitStore } from 'express-rate-limit';

/** express-rate-limit's counts in our store, so that several processes share them. */
export function createCounterStore(
  store: Store,
  settings: { readonly prefix: string; readonly windowSeconds: number },
): RateLimitStore {
  const { prefix, windowSeconds } = settings;
  return {
    prefix,
    localKeys: false,
    async increment(key) {
      const { count, resetsAt } = await store.increment(prefix + key, windowSeconds);
      return { totalHits: count, resetTime: new Date(resetsAt) };
    },
    async decrement(key) {
      await store.decrement(prefix + key);
    },
    async resetKey(key) {
      await store.delete([prefix + key]);
    },
    async get(key) {
      const counter = await store.counter(prefix + key);
      return counter && { totalHits: counter.count, resetTime: new Date(counter.resetsAt) };
    },
  };
}
