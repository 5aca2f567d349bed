/**
 * The store: what the processes of Gatehouse share. `store.ts` is the port and the contract.
 *
 *   createStore(url) ── store-url ──▶ sqlite: ─▶ sqlite-store ── sqlite-database (file, schema, busy retry)
 *                                 └─▶ redis…  ─▶ redis-store  ── redis-connection (waits, deadlines) ── redis-client
 *                    around either, where somebody wants to know how long it takes: observed-store
 *
 * `*-contract.ts` is the suite that every engine passes; `rate-limiter.ts` counts requests over any of them. Deliberately not here: what the keys mean,
 * hashing and sealing (packages/identity), and any cache: revocation must be seen at once.
 */
import { createAvailability, type OnStateChange } from './availability.ts';
import { observeStore, type StoreObserver } from './observed-store.ts';
import { createRedisStore } from './redis-store.ts';
import { createSqliteStore } from './sqlite-store.ts';
import type { Store } from './store.ts';
import { parseStoreUrl } from './store-url.ts';

export interface StoreOptions {
  /**
   * Told when the engine goes away and when it is back. The store counts as available at first, so a
   * Redis that is down at start is one 'unavailable'. The reason, where it is known, holds no secret; a further
   * one is told once an outage. Must not throw.
   */
  readonly onStateChange?: OnStateChange;
  /** Told once what an operator should check about a store that works. Must not throw. */
  readonly onWarning?: (message: string) => void;
  /** Told of every operation and its duration, for metrics. */
  readonly observer?: StoreObserver;
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
    warn: once(options.onWarning),
    now: options.now ?? Date.now,
  };
  const engine =
    location.engine === 'sqlite'
      ? createSqliteStore(location.path, dependencies)
      : createRedisStore(location, dependencies);
  return options.observer === undefined ? engine : observeStore(engine, options.observer);
}

/** Each message once, however often the engine connects. */
function once(report: (message: string) => void = () => undefined): (message: string) => void {
  const reported = new Set<string>();
  return (message) => {
    if (!reported.has(message)) {
      reported.add(message);
      report(message);
    }
  };
}
