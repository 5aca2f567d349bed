/**
 * The store, which all processes of Gatehouse share. `store.ts` is the port and its contract.
 *
 *   createStore(url) ── store-url
 *     ├▶ sqlite: ─▶ sqlite-store ── sqlite-database (file, schema, busy retry)
 *     └▶ redis…  ─▶ redis-store ─┬─ redis-connection (waits, deadlines) ── redis-client
 *                                ├─ redis-claims (the claims of one turn in one command)
 *                                └─ confirmed-writes ── confirmed-batches (WAIT)
 *   around either engine: observe (durations), store-watch (availability)
 *
 * Every engine passes the suite in `test/contract/`. `rate-limiter.ts` counts requests in any
 * engine. The meaning of keys, hashing and sealing belong to packages/identity. There is
 * deliberately no cache, because revocations take effect immediately.
 */
import { createRequire } from 'node:module';
import { createSqliteStore } from './sqlite/sqlite-store.ts';
import type { Store, StoreRoom } from './store.ts';
import { parseStoreUrl } from './store-url.ts';
import { type OnStateChange, StoreWatch } from './store-watch.ts';

export interface StoreOptions {
  /**
   * Called at each change of the state, within 2 s even without traffic. The initial state is
   * 'available', so a Redis that is down at start causes one call with 'unavailable'. The reason,
   * if known, contains no secret. During an outage, each further reason causes one call. Must not
   * throw. Without this option, the store is not examined periodically.
   */
  readonly onStateChange?: OnStateChange;
  /** Receives each warning about a working store once. Must not throw. */
  readonly onWarning?: (message: string) => void;
  /** Receives the used space every second. Requires `onStateChange`. Must not throw. */
  readonly onRoom?: (room: StoreRoom) => void;
  /** Called after each operation with its duration, for metrics. */
  readonly observer?: StoreObserver;
  /** Epoch milliseconds. */
  readonly now?: () => number;
}

/**
 * Opens the store that the URL names. Neither throws nor waits if Redis is unavailable. Instead,
 * operations throw `StoreUnavailableError` until Redis is available.
 *
 * @throws TypeError if the URL is malformed. The message never quotes its credentials
 * @throws StoreUnavailableError if the SQLite file cannot be opened
 */
export function createStore(url: string, options: StoreOptions = {}): Store {
  const location = parseStoreUrl(url);
  const { onStateChange, onRoom, observer, now = Date.now } = options;
  const watch = onStateChange && new StoreWatch(onStateChange, onRoom);
  const engine =
    location.engine === 'sqlite'
      ? createSqliteStore(location.path, now)
      : new (loadRedisEngine().RedisStore)(location, { watch, warn: once(options.onWarning), now });
  const observed = observe(engine, (operation, seconds, failed, error) => {
    if (failed && operation !== 'ping') {
      watch?.failed(error);
    }
    observer?.(operation, seconds, failed, error);
  });
  watch?.start(observed);
  return {
    ...observed,
    ping: () => watch?.examine() ?? observed.ping(),
    close: () => {
      watch?.stop();
      return engine.close();
    },
  };
}

/** Only when it is needed: the client library needs 5 MB. */
function loadRedisEngine(): typeof import('./redis/redis-store.ts') {
  return createRequire(import.meta.url)('./redis/redis-store.ts');
}

/** The operations of the port, except `close`. */
export const storeOperations = [
  'get',
  'set',
  'claim',
  'replace',
  'delete',
  'increment',
  'decrement',
  'addToIndex',
  'removeFromIndex',
  'members',
  'membersWithPrefix',
  'append',
  'read',
  'ping',
] as const satisfies readonly Exclude<keyof Store, 'close'>[];

type StoreOperation = (typeof storeOperations)[number];

/** Called once for each operation, when it has completed. Must not throw. */
type StoreObserver = (
  operation: StoreOperation,
  seconds: number,
  failed: boolean,
  error?: unknown,
) => void;

/** Reports how long each operation takes. Callers get the engine's own promise, without a delay. */
function observe(engine: Store, observer: StoreObserver) {
  const observed = (operation: StoreOperation) => {
    const run = engine[operation].bind(engine) as (...words: unknown[]) => Promise<unknown>;
    return (...words: unknown[]) => {
      // SQLite does its work before it returns a promise.
      const started = performance.now();
      const result = run(...words);
      const seconds = () => (performance.now() - started) / 1000;
      result.then(
        () => observer(operation, seconds(), false),
        (error: unknown) => observer(operation, seconds(), true, error),
      );
      return result;
    };
  };
  const operations = storeOperations.map((operation) => [operation, observed(operation)]);
  return Object.fromEntries(operations) as Pick<Store, StoreOperation>;
}

/** Reports each message once, even if the engine reconnects. */
function once(report: (message: string) => void = () => undefined): (message: string) => void {
  const reported = new Set<string>();
  return (message) => {
    if (!reported.has(message)) {
      reported.add(message);
      report(message);
    }
  };
}
