import type { Store } from '@gatehouse/store';

/** Runs one operation of the store. `key` is its first argument. */
export type Around = (
  run: () => Promise<unknown>,
  operation: keyof Store,
  key: string,
) => Promise<unknown>;

/** A store whose operations are delayed, counted or replaced by errors. */
export function wrappedStore(store: Store, around: Around): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      return typeof member !== 'function'
        ? member
        : (...all: readonly unknown[]) =>
            around(() => member.apply(target, all), name as keyof Store, String(all[0]));
    },
  });
}
