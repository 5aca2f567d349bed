import { NEVER_EXPIRES } from '@gatehouse/store';
import {
  createRecordCache,
  type RecordDependencies,
  RejectedChangeError,
  readForUpdate,
} from './record.ts';
import { withRecordLock } from './record-lock.ts';

/**
 * Clients or users: records with an id and a not-before, and the index of them.
 *
 * @param records.kind names a record in messages and in its keys in the store
 * @param records.parse returns undefined for a damaged record
 */
export function createRegistry<Stored extends { readonly notBefore: number }>(
  records: {
    readonly kind: 'client' | 'user';
    readonly parse: (text: string) => Stored | undefined;
    readonly format: (record: Stored) => string;
  },
  dependencies: RecordDependencies,
) {
  const { kind, parse, format } = records;
  const { store, now } = dependencies;
  const indexKey = `${kind}s`;
  const keyOf = (id: string) => `${kind}:${id}`;
  const cache = createRecordCache(store, parse, now, (key) =>
    dependencies.onDamagedRecord?.(kind, key),
  );

  /**
   * Changes a record under its lock, or creates it. The not-before never decreases, because that
   * would undo a revocation.
   */
  function write(id: string, change: (existing: Stored | undefined) => Stored): Promise<Stored> {
    const key = keyOf(id);
    return withRecordLock(store, key, async (assertHeld) => {
      const existing = await readForUpdate(store, key, parse);
      const wanted = change(existing);
      const notBefore = Math.max(wanted.notBefore, existing?.notBefore ?? 0);
      const saved = { ...wanted, notBefore };
      if (existing === undefined) {
        await store.addToIndex(indexKey, id, NEVER_EXPIRES);
      }
      assertHeld();
      await store.set(key, format(saved), undefined, { revokes: existing !== undefined });
      cache.forget(key);
      return saved;
    });
  }

  /** Returns a copy that is at most 50 ms old. */
  const find = (id: string): Promise<Stored | undefined> => cache.read(keyOf(id));

  return {
    find,
    async list(): Promise<readonly Stored[]> {
      const found = await Promise.all((await store.members(indexKey)).map(find));
      return found.filter((record) => record !== undefined);
    },
    /** Without the copy. @throws Error if the record is damaged */
    read: (id: string) => readForUpdate(store, keyOf(id), parse),
    write,
    /** @throws RejectedChangeError if the record does not exist, or `change` throws it */
    update: (id: string, change: (existing: Stored) => Stored): Promise<Stored> =>
      write(id, (existing) => {
        if (existing === undefined) {
          throw new RejectedChangeError(`The ${kind} ${id} does not exist.`);
        }
        return change(existing);
      }),
  };
}
