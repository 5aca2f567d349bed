/**
 * The store: what the processes of Gatehouse share. `store.ts` is the port and the contract.
 *
 *   createStore(url) ── store-url ──▶ sqlite: ─▶ sqlite-store ── sqlite-database (file, schema, busy retry)
 *                                 └─▶ redis…  ─▶ redis-store  ── redis-connection (waits, deadlines) ── redis-client
 *
 * `*-contract.ts` is the suite that every engine passes; `rate-limiter.ts` counts requests over any of them. Deliberately not here: what the keys mean,
 * hashing and sealing (packages/identity), and any cache: revocation must be seen at once.
 */
import { createAvailability, type OnStateChange } from './availability.ts';
import { createRedisStore } from './redis-store.ts';
import { createSqliteStore } from './sqlite-store.ts';
import type { Store } from './store.ts';
import { parseStoreUrl } from './store-url.ts';

export interface StoreOptions {
  /**
   * Told when the engine goes away and when it is back. The store counts as available at first, so a
   * Redis that is down at start is one 'unavailable'; the reason is there when an operator has to change something. Must not throw.
   */
  readonly onStateChange?: OnStateChange;
  /** Epoch milliseconds. */
  readonly now?: () => number;
}

/**
 * Opens the store that the URL names. Neither throws nor waits because Redis is away: operations throw
 * `StoreUnavailable` until it is back, and then work again by themselves.
 *
 * @throws TypeError when the URL is malformed; the text never quotes its credentials
 * @throws StoreUnavailable when the SQLite file cannot be opened
 */
export function createStore(url: string, options: StoreOptions = {}): Store {
  const location = parseStoreUrl(url);
  const dependencies = {
    availability: createAvailability(options.onStateChange),
    now: options.now ?? Date.now,
  };
  return location.engine === 'sqlite'
    ? createSqliteStore(location.path, dependencies)
    : createRedisStore(location, dependencies);
}
