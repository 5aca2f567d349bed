export { createStore, type StoreOptions, storeOperations } from './create-store.ts';
export {
  createRateLimiter,
  limitPolicy,
  limitState,
  type RateLimit,
  type RateLimiter,
  retryAfter,
  type Verdict,
} from './rate-limiter.ts';
export { redisAccessRule } from './redis/redis-scripts.ts';
export { copySqliteFile } from './sqlite/sqlite-database.ts';
export {
  type AppendOptions,
  type Counter,
  claimOnce,
  NEVER_EXPIRES,
  type Store,
  StoreFullError,
  StoreUnavailableError,
} from './store.ts';
export { createStoreBudget, freeBytes } from './store-budget.ts';
export { parseStoreUrl } from './store-url.ts';
export { storeReadiness } from './store-watch.ts';
