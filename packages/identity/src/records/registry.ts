import { NEVER_EXPIRES } from '@gatehouse/store';
import type { OrganizationRegistry } from './organizations.ts';
import {
  createRecordCache,
  nextNotBefore,
  type RecordDependencies,
  RejectedChangeError,
  readForUpdate,
} from './record.ts';
import { withRecordLock } from './record-lock.ts';
import { createRecordPages, type PagedRecords } from './record-pages.ts';

/** Longer than any credential lives. */
const REMOVED_SECONDS = 400 * 24 * 60 * 60;

export interface RegistryDependencies extends RecordDependencies {
  readonly organizations: Pick<OrganizationRegistry, 'isRemoved'>;
}

const orgOf = ({ orgId }: { readonly orgId: string }) => orgId;

/**
 * Clients or users: records with an id and a not-before, and the index of them.
 *
 * @param records.kind names a record in messages and in its keys in the store
 * @param records.parse returns undefined for a damaged record
 */
export function createRegistry<
  Stored extends { readonly notBefore: number; readonly orgId: string },
>(
  records: {
    readonly kind: 'client' | 'user';
    readonly parse: (text: string) => Stored | undefined;
    readonly format: (record: Stored) => string;
    /** Completes a record before it is written. @throws RejectedChangeError to reject it */
    readonly settle: (wanted: Stored, existing: Stored | undefined) => Promise<Stored>;
    /** Runs after the record is written, under its lock. */
    readonly onWritten?: (saved: Stored, existing: Stored | undefined) => Promise<void>;
    readonly paging: Pick<PagedRecords<Stored>, 'idOf' | 'namesOf' | 'isPaged'>;
    /** Where a record is listed, and when it expires, in epoch seconds. */
    readonly placeOf: (record: Stored) => {
      readonly index: string;
      readonly expiresAt?: number | undefined;
    };
  },
  dependencies: RegistryDependencies,
) {
  const { kind, parse, format, settle, onWritten, placeOf } = records;
  const { store, now, organizations } = dependencies;
  const keyOf = (id: string) => `${kind}:${id}`;
  /** The not-before of a removed record. A later record with the same id starts with it. */
  const removedKeyOf = (id: string) => `removed-${kind}:${id}`;
  const cache = createRecordCache(store, parse, now, (key) =>
    dependencies.onDamagedRecord?.(kind, key),
  );

  const readStored = (id: string) => readForUpdate(store, keyOf(id), parse);
  const readers = createReaders((id) => cache.read(keyOf(id)), readStored, organizations);

  /**
   * Changes a record under its lock, or creates it. The not-before never decreases, because that
   * would undo a revocation. A move to another organization revokes what was issued before.
   */
  function write(id: string, change: (existing: Stored | undefined) => Stored): Promise<Stored> {
    const key = keyOf(id);
    return withRecordLock(store, key, async (assertHeld) => {
      const existing = await readStored(id);
      const changed = change(existing);
      await (existing ?? assertNotRemoved(changed.orgId, organizations));
      const wanted = await settle(changed, existing);
      const former = existing?.notBefore ?? Number((await store.get(removedKeyOf(id))) ?? 0);
      const isMoved = existing !== undefined && existing.orgId !== wanted.orgId;
      const notBefore = Math.max(wanted.notBefore, former, isMoved ? nextNotBefore(now()) : 0);
      const saved = { ...wanted, notBefore };
      const [{ index, expiresAt }, place] = [placeOf(saved), existing && placeOf(existing)];
      await pages.add(saved, existing);
      if (place?.index !== index || place.expiresAt !== expiresAt) {
        await store.addToIndex(index, id, expiresAt ? expiresAt * 1000 : NEVER_EXPIRES);
      }
      assertHeld();
      const seconds = expiresAt && Math.max(1, Math.ceil(expiresAt - now() / 1000));
      const revokes = existing !== undefined && expiresAt === undefined;
      await store.set(key, format(saved), seconds, { revokes });
      cache.forget(key);
      await onWritten?.(saved, existing);
      await (existing && pages.remove(existing, saved));
      return saved;
    });
  }

  const pages = createRecordPages({ ...records.paging, kind, orgOf, find: readers.find }, store);

  return {
    ...readers,
    /** Records in `list`, in the order of their ids, or of the names that begin with `search`. */
    page: pages.read,
    /** Also those of removed organizations. */
    async list(index = `${kind}s`): Promise<readonly Stored[]> {
      const keys = (await store.members(index)).map(keyOf);
      const found = await Promise.all(keys.map((key) => cache.read(key)));
      return found.filter((record) => record !== undefined);
    },
    write,
    /** @throws RejectedChangeError if the record does not exist, or `change` throws it */
    update: (id: string, change: (existing: Stored) => Stored): Promise<Stored> =>
      write(id, (existing) => {
        if (existing === undefined) {
          throw new RejectedChangeError(`The ${kind} ${id} does not exist.`);
        }
        return change(existing);
      }),
    /**
     * Deletes the record, and with it other keys. Its credentials are invalid from then on, also if a
     * record with this id is added later.
     *
     * @returns undefined if the record does not exist
     */
    remove: (id: string, keysOf: (existing: Stored) => Promise<readonly string[]>) =>
      withRecordLock(store, keyOf(id), async (assertHeld) => {
        const existing = await readStored(id);
        if (existing === undefined) {
          return undefined;
        }
        const others = await keysOf(existing);
        assertHeld();
        const notBefore = String(nextNotBefore(now()));
        await store.set(removedKeyOf(id), notBefore, REMOVED_SECONDS, { revokes: true });
        await store.delete([keyOf(id), ...others]);
        cache.forget(keyOf(id));
        await store.removeFromIndex(placeOf(existing).index, id);
        await pages.remove(existing);
        return existing;
      }),
  };
}

function createReaders<Stored extends { readonly orgId: string }>(
  readCopy: (id: string) => Promise<Stored | undefined>,
  readStored: (id: string) => Promise<Stored | undefined>,
  organizations: RegistryDependencies['organizations'],
) {
  const unlessRemoved = async (found: Stored | undefined): Promise<Stored | undefined> =>
    found && (await organizations.isRemoved(found.orgId)) ? undefined : found;
  return {
    /** A copy that is at most 50 ms old. Undefined also for members of a removed organization. */
    find: async (id: string) => unlessRemoved(await readCopy(id)),
    /** The same without the copy of the record. @throws Error if the record is damaged */
    read: async (id: string) => unlessRemoved(await readStored(id)),
    /** Also the member of a removed organization. @throws Error if the record is damaged */
    readStored,
  };
}

/** A new member of an organization whose removal is not yet in the copy would outlast it. */
async function assertNotRemoved(
  orgId: string,
  organizations: RegistryDependencies['organizations'],
): Promise<void> {
  if (await organizations.isRemoved(orgId, 'now')) {
    throw new RejectedChangeError(`The organization ${orgId} does not exist.`);
  }
}
