/** Runs one operation of a store. `key` is its first argument. */
export type Around = (
  run: () => Promise<unknown>,
  operation: string,
  key: string,
) => Promise<unknown>;

/** A store whose operations are delayed, counted or replaced by errors. */
export function wrappedStore<Store extends object>(store: Store, around: Around): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      return typeof member !== 'function'
        ? member
        : (...all: readonly unknown[]) =>
            around(() => member.apply(target, all), String(name), String(all[0]));
    },
  });
}
