export { createStore, type StoreOptions } from './create-store.ts';
export { limitPolicy, limitState, retryAfter } from './limit-headers.ts';
export type { StoreState } from './observation/availability.ts';
export {
  type StoreObserver,
  type StoreOperation,
  storeOperations,
} from './observation/observed-store.ts';
export { type StoreReadiness, storeReadiness } from './observation/store-readiness.ts';
export {
  type AppendOptions,
  type Counter,
  NEVER_EXPIRES,
  type Store,
  StoreFullError,
  type StoreRoom,
  type StoreServer,
  StoreUnavailableError,
  type WriteOptions,
} from './port/store.ts';
export { parseStoreUrl, type StoreLocation } from './port/store-url.ts';
export {
  createRateLimiter,
  type RateLimit,
  type RateLimiter,
  type Verdict,
} from './rate-limiter.ts';
export { redisAccessRule } from './redis/redis-access.ts';
export { copySqliteFile } from './sqlite/copy-sqlite-file.ts';
export { type BudgetParty, createStoreBudget, type StoreBudget } from './store-budget.ts';
