import { NEVER_EXPIRES, type Store } from '@gatehouse/store';
import { z } from 'zod';
import { type OnDamagedRecord, parseRecord, readRecord } from './record.ts';

/** Owns clients, users and devices. Other organizations cannot access them. */
export interface Organization {
  readonly id: string;
  readonly name: string;
}

export interface OrganizationRegistry {
  find(id: string): Promise<Organization | undefined>;
  list(): Promise<readonly Organization[]>;
  save(organization: Organization): Promise<void>;
}

const INDEX_KEY = 'organizations';

const storedOrganization: z.ZodType<Organization> = z.object({ id: z.string(), name: z.string() });

export function createOrganizationRegistry(
  store: Store,
  onDamagedRecord: OnDamagedRecord,
): OrganizationRegistry {
  const keyOf = (id: string) => `organization:${id}`;
  async function find(id: string): Promise<Organization | undefined> {
    const key = keyOf(id);
    const text = await store.get(key);
    return readRecord(text, parseOrganization, { kind: 'organization', key, onDamagedRecord });
  }
  return {
    find,
    async list() {
      const found = await Promise.all((await store.members(INDEX_KEY)).map(find));
      return found.filter((organization) => organization !== undefined);
    },
    async save(organization) {
      await store.set(keyOf(organization.id), JSON.stringify(organization));
      await store.addToIndex(INDEX_KEY, organization.id, NEVER_EXPIRES);
    },
  };
}

function parseOrganization(text: string): Organization | undefined {
  return parseRecord(storedOrganization, text);
}
