export type { StoreState } from './availability.ts';
export { createStore, type StoreOptions } from './create-store.ts';
export { type StoreObserver, type StoreOperation, storeOperations } from './observed-store.ts';
export {
  createRateLimiter,
  type RateLimit,
  type RateLimiter,
  type Verdict,
} from './rate-limiter.ts';
export { redisAccessRule } from './redis-access.ts';
export {
  type AppendOptions,
  type Counter,
  NEVER_EXPIRES,
  type Store,
  StoreFull,
  type StoreRoom,
  StoreUnavailable,
  type WriteOptions,
} from './store.ts';
export { type StoreReadiness, storeReadiness } from './store-readiness.ts';
export { parseStoreUrl, type StoreLocation } from './store-url.ts';
