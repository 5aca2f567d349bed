import { NEVER_EXPIRES, type Store } from '@gatehouse/store';

/** Owns clients, users and devices; nobody sees another organisation's. */
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

export function createOrganizationRegistry(store: Store): OrganizationRegistry {
  const keyOf = (id: string) => `organization:${id}`;
  async function find(id: string): Promise<Organization | undefined> {
    const text = await store.get(keyOf(id));
    return text === undefined ? undefined : (JSON.parse(text) as Organization);
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
