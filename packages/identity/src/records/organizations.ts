import { NEVER_EXPIRES } from '@gatehouse/store';
import { z } from 'zod';
import {
  createRecordCache,
  parseRecord,
  type RecordDependencies,
  RejectedChangeError,
} from './record.ts';
import { createRecordPages } from './record-pages.ts';

const storedOrganization = z.object({
  id: z.string(),
  name: z.string(),
  /** The record stays, because devices can still be in the database. */
  isRemoved: z.boolean().optional(),
  /** The last time, in epoch seconds. An organization that was added again has one, too. */
  removedAt: z.number().optional(),
});

/** Owns clients, users and devices. Other organizations cannot access them. */
export type Organization = Readonly<Pick<z.infer<typeof storedOrganization>, 'id' | 'name'>>;

const INDEX_KEY = 'organizations';

export type OrganizationRegistry = ReturnType<typeof createOrganizationRegistry>;

function createRecords({ store, now, onDamagedRecord }: RecordDependencies) {
  const keyOf = (id: string) => `organization:${id}`;
  const parse = (text: string) => parseRecord(storedOrganization, text);
  const cache = createRecordCache(store, parse, now, (key) =>
    onDamagedRecord?.('organization', key),
  );

  async function find(id: string): Promise<Organization | undefined> {
    const found = await cache.read(keyOf(id));
    return found?.isRemoved === true ? undefined : found && { id: found.id, name: found.name };
  }

  const pages = createRecordPages<Organization>(
    {
      kind: 'organization',
      idOf: ({ id }) => id,
      namesOf: ({ id, name }) => ({ words: [id, name], texts: [] }),
      find,
    },
    store,
  );
  return { keyOf, parse, cache, find, pages };
}

function createAdd(
  store: RecordDependencies['store'],
  { keyOf, parse, cache, find, pages }: ReturnType<typeof createRecords>,
) {
  /** One of several that add the same id. @throws RejectedChangeError if it exists */
  return async ({ id, name }: Organization): Promise<void> => {
    const key = keyOf(id);
    const text = await store.get(key);
    const stored = parse(text ?? '');
    const added = JSON.stringify({ id, name, removedAt: stored?.removedAt });
    await pages.add({ id, name }, undefined);
    const isAdded =
      text === undefined
        ? (await store.claim(key, added)) === added
        : stored?.isRemoved === true && (await store.replace(key, text, added));
    cache.forget(key);
    if (!isAdded) {
      const known = await find(id);
      await (known && pages.remove({ id, name }, known));
      throw new RejectedChangeError(`The organization ${id} already exists.`);
    }
    await store.addToIndex(INDEX_KEY, id, NEVER_EXPIRES);
  };
}

export function createOrganizationRegistry(dependencies: RecordDependencies) {
  const { store, now } = dependencies;
  const records = createRecords(dependencies);
  const { keyOf, parse, cache, find, pages } = records;

  return {
    find,
    page: pages.read,
    async list(): Promise<readonly Organization[]> {
      const found = await Promise.all((await store.members(INDEX_KEY)).map(find));
      return found.filter((organization) => organization !== undefined);
    },
    /**
     * @param change runs again if another change is faster
     * @throws RejectedChangeError if it does not exist, or `change` throws it
     */
    async change(
      id: string,
      change: (current: Organization) => Organization,
    ): Promise<Readonly<Record<'before' | 'after', Organization>>> {
      const text = await store.get(keyOf(id));
      const stored = parse(text ?? '');
      if (text === undefined || stored === undefined || stored.isRemoved === true) {
        throw new RejectedChangeError(`The organization ${id} does not exist.`);
      }
      const before = { id: stored.id, name: stored.name };
      const after = change(before);
      await pages.add(after, before);
      const { removedAt } = stored;
      if (!(await store.replace(keyOf(id), text, JSON.stringify({ ...after, removedAt })))) {
        return this.change(id, change);
      }
      cache.forget(keyOf(id));
      await pages.remove(before, after);
      return { before, after };
    },
    add: createAdd(store, records),
    async save({ id, name }: Organization): Promise<void> {
      const former = await find(id);
      const { removedAt } = (await cache.read(keyOf(id))) ?? {};
      await pages.add({ id, name }, former);
      await store.set(keyOf(id), JSON.stringify({ id, name, removedAt }));
      cache.forget(keyOf(id));
      await store.addToIndex(INDEX_KEY, id, NEVER_EXPIRES);
      await (former && pages.remove(former, { id, name }));
    },
    /**
     * Within 50 ms, no member is found any more, so that all credentials of members are invalid.
     *
     * @param assertMay gets the record of this moment, and throws to keep it
     */
    async remove(
      id: string,
      assertMay?: (current: Organization | undefined) => void,
    ): Promise<void> {
      const text = await store.get(keyOf(id));
      const stored = parse(text ?? '');
      const former = stored?.isRemoved === true ? undefined : stored;
      assertMay?.(former && { id: former.id, name: former.name });
      const removedAt = Math.floor(now() / 1000);
      const removed = JSON.stringify({ id, name: id, isRemoved: true, removedAt });
      if (assertMay === undefined || text === undefined) {
        await store.set(keyOf(id), removed, undefined, { revokes: true });
      } else if (!(await store.replace(keyOf(id), text, removed))) {
        return this.remove(id, assertMay);
      }
      cache.forget(keyOf(id));
      await store.removeFromIndex(INDEX_KEY, id);
      await (former && pages.remove(former));
    },
    /** Whether it is removed. The copy is at most 50 ms old, unless the state of this moment decides. */
    async isRemoved(id: string, when?: 'now'): Promise<boolean> {
      if (when === 'now') {
        cache.forget(keyOf(id));
      }
      return (await cache.read(keyOf(id)))?.isRemoved === true;
    },
    /** When an organization with this id was removed, in epoch seconds. */
    removedAt: async (id: string): Promise<number | undefined> =>
      (await cache.read(keyOf(id)))?.removedAt,
  };
}
