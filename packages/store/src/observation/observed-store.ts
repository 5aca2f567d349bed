import type { Store } from '../port/store.ts';

/** The operations of the port, except `close`. */
export const storeOperations = [
  'get',
  'set',
  'claim',
  'replace',
  'delete',
  'increment',
  'decrement',
  'counter',
  'addToIndex',
  'removeFromIndex',
  'members',
  'append',
  'appendAll',
  'read',
  'ping',
] as const satisfies readonly Exclude<keyof Store, 'about' | 'close'>[];

export type StoreOperation = (typeof storeOperations)[number];

/** Called once for each operation, when it has completed. Must not throw. */
export type StoreObserver = (
  operation: StoreOperation,
  seconds: number,
  failed: boolean,
  error?: unknown,
) => void;

/**
 * Wraps a store and reports how long each operation takes. It returns the engine's own promise, so
 * callers do not wait longer.
 */
export function observeStore(store: Store, observe: StoreObserver): Store {
  // SQLite does its work before it returns a promise, so callers pass the time at which they start.
  function timed<Result>(operation: StoreOperation, started: number, result: Promise<Result>) {
    const seconds = () => (performance.now() - started) / 1000;
    result.then(
      () => observe(operation, seconds(), false),
      (error: unknown) => observe(operation, seconds(), true, error),
    );
    return result;
  }

  const now = () => performance.now();
  return {
    get: (key) => timed('get', now(), store.get(key)),
    set: (key, value, ttl, options) => timed('set', now(), store.set(key, value, ttl, options)),
    claim: (key, owner, ttl, options) =>
      timed('claim', now(), store.claim(key, owner, ttl, options)),
    replace: (key, expected, value) => timed('replace', now(), store.replace(key, expected, value)),
    delete: (keys) => timed('delete', now(), store.delete(keys)),
    increment: (key, window, amount) =>
      timed('increment', now(), store.increment(key, window, amount)),
    decrement: (key) => timed('decrement', now(), store.decrement(key)),
    counter: (key) => timed('counter', now(), store.counter(key)),
    addToIndex: (key, member, expiresAt) =>
      timed('addToIndex', now(), store.addToIndex(key, member, expiresAt)),
    removeFromIndex: (key, member) =>
      timed('removeFromIndex', now(), store.removeFromIndex(key, member)),
    members: (key) => timed('members', now(), store.members(key)),
    append: (key, entry, capacity, options) =>
      timed('append', now(), store.append(key, entry, capacity, options)),
    appendAll: (key, entries, capacity, options) =>
      timed('appendAll', now(), store.appendAll(key, entries, capacity, options)),
    read: (key, limit) => timed('read', now(), store.read(key, limit)),
    ping: () => timed('ping', now(), store.ping()),
    about: () => store.about(),
    close: () => store.close(),
  };
}
