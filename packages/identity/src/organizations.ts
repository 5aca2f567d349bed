import type { Store } from '@gatehouse/store';

/** Owns clients, users and devices; nobody sees another organisation's. */
export interface Organization {
  readonly id: string;
  readonly name: string;
}

export interface OrganizationRegistry {
  find(id: string): Promise<Organization | undefined>;
  save(organization: Organization): Promise<void>;
}

export function createOrganizationRegistry(store: Store): OrganizationRegistry {
  const keyOf = (id: string) => `organization:${id}`;
  return {
    async find(id) {
      const text = await store.get(keyOf(id));
      return text === undefined ? undefined : (JSON.parse(text) as Organization);
    },
    save: (organization) => store.set(keyOf(organization.id), JSON.stringify(organization)),
  };
}
