/**
 * The store: what the processes of Gatehouse share. `store.ts` is the port and the contract.
 *
 *   createStore(url) ── store-url ──▶ sqlite: ─▶ sqlite-store ── sqlite-database (file, schema, busy retry)
 *                                 └─▶ redis…  ─▶ redis-store  ── redis-connection (waits, deadlines) ── redis-client
 *                                                             └─ redis-confirmed-writes ── redis-confirmed-batches (WAIT), per server
 *                    around either, for its owner: observed-store (how long it takes), store-watch (whether it works)
 *
 * `*-contract.ts` is the suite that every engine passes; `rate-limiter.ts` counts requests over any of them. Deliberately not here: what the keys mean,
 * hashing and sealing (packages/identity), and any cache: revocation must be seen at once.
 */
import type { OnStateChange } from './observation/availability.ts';
import { observeStore, type StoreObserver } from './observation/observed-store.ts';
import { type EngineSignals, StoreWatch } from './observation/store-watch.ts';
import type { Store, StoreRoom } from './port/store.ts';
import { parseStoreUrl, type StoreLocation } from './port/store-url.ts';
import { createRedisStore, type RedisStoreDependencies } from './redis/redis-store.ts';
import { createSqliteStore } from './sqlite/sqlite-store.ts';

export interface StoreOptions {
  /**
   * Told at each change of the state, within 2 s also without traffic. The store counts as available at first, so a
   * Redis that is down at start is one 'unavailable'. The reason, where it is known, holds no secret; a further
   * one is told once an outage. Must not throw. Without it the store is not examined by itself.
   */
  readonly onStateChange?: OnStateChange;
  /** Told once what an operator should check about a store that works. Must not throw. */
  readonly onWarning?: (message: string) => void;
  /** Told what the store uses, every second, with `onStateChange`. Must not throw. */
  readonly onRoom?: (room: StoreRoom) => void;
  /** Told of every operation and its duration, for metrics. */
  readonly observer?: StoreObserver;
  /** Epoch milliseconds. */
  readonly now?: () => number;
}

/**
 * Opens the store that the URL names. Neither throws nor waits if Redis is unavailable: operations throw
 * `StoreUnavailableError` until it is back, and then work again by themselves.
 *
 * @throws TypeError when the URL is malformed; the text never quotes its credentials
 * @throws StoreUnavailableError when the SQLite file cannot be opened
 */
export function createStore(url: string, options: StoreOptions = {}): Store {
  const location = parseStoreUrl(url);
  const { onStateChange, onRoom, observer, now = Date.now } = options;
  const warn = once(options.onWarning);
  if (onStateChange === undefined) {
    const engine = openEngine(location, { signals: noSignals, warn, now });
    return observer === undefined ? engine : observeStore(engine, observer);
  }
  const watch = new StoreWatch(onStateChange, onRoom);
  const engine = openEngine(location, { signals: watch, warn, now });
  const observed = observeStore(engine, (operation, seconds, failed, error) => {
    if (failed && operation !== 'ping') {
      watch.failed(error);
    }
    observer?.(operation, seconds, failed, error);
  });
  watch.start(observed);
  return {
    ...observed,
    ping: () => watch.examine(),
    close: () => {
      watch.stop();
      return engine.close();
    },
  };
}

const noSignals: EngineSignals = { lost: () => undefined, recheck: () => undefined };

function openEngine(location: StoreLocation, dependencies: RedisStoreDependencies): Store {
  return location.engine === 'sqlite'
    ? createSqliteStore(location.path, dependencies)
    : createRedisStore(location, dependencies);
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
