import { NEVER_EXPIRES, type Store } from '@gatehouse/store';
import { z } from 'zod';
import { type OnDamagedRecord, parseRecord, readRecord } from './record.ts';

/** Owns clients, users and devices. Other organizations cannot access them. */
const storedOrganization = z.object({ id: z.string(), name: z.string() });

type Organization = Readonly<z.infer<typeof storedOrganization>>;

const INDEX_KEY = 'organizations';
const removedKeyOf = (id: string) => `removed-organization:${id}`;

export function createOrganizationRegistry(store: Store, onDamagedRecord: OnDamagedRecord) {
  const keyOf = (id: string) => `organization:${id}`;

  async function find(id: string): Promise<Organization | undefined> {
    const key = keyOf(id);
    const parse = (text: string) => parseRecord(storedOrganization, text);
    return readRecord(await store.get(key), parse, () => onDamagedRecord('organization', key));
  }

  return {
    find,
    async list(): Promise<readonly Organization[]> {
      const found = await Promise.all((await store.members(INDEX_KEY)).map(find));
      return found.filter((organization) => organization !== undefined);
    },
    async save(organization: Organization): Promise<void> {
      await store.set(keyOf(organization.id), JSON.stringify(organization));
      await store.addToIndex(INDEX_KEY, organization.id, NEVER_EXPIRES);
    },
    /** Devices of the organization can still be in the database, so `removedAt` remembers the id. */
    async remove(id: string, nowMilliseconds: number): Promise<void> {
      const seconds = String(Math.floor(nowMilliseconds / 1000));
      await store.set(removedKeyOf(id), seconds, undefined, { revokes: true });
      await store.delete([keyOf(id)]);
      await store.removeFromIndex(INDEX_KEY, id);
    },
    /** When an organization with this id was removed, in epoch seconds. */
    async removedAt(id: string): Promise<number | undefined> {
      const seconds = await store.get(removedKeyOf(id));
      return seconds === undefined ? undefined : Number(seconds);
    },
  };
}
