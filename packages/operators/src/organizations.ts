/** Organizations, which own clients, users and devices. */
import { type Identity, organizationSchema } from '@gatehouse/identity';
import { z } from 'zod';
import {
  assertVersion,
  type Condition,
  type Dependencies,
  memberFilter,
  type Operator,
  OperatorError,
  orNotFound,
  type Page,
  parseInput,
  readCursor,
  toCursor,
  version,
  withVersion,
} from './operator.ts';

export const organizationView = organizationSchema.extend({ version });
export type OrganizationView = Readonly<z.output<typeof organizationView>>;

export const newOrganization = organizationSchema;
export type NewOrganization = z.input<typeof organizationSchema>;

export const organizationChange = organizationSchema.pick({ name: true });
export type OrganizationChange = z.input<typeof organizationChange>;

const MISSING = 'The organization does not exist.';
const organizationFilter = memberFilter.pick({ search: true, cursor: true, limit: true });

export function createOrganizationActs(dependencies: Dependencies) {
  const { identity, record } = dependencies;
  const { organizations } = identity;

  async function previewCreation(input: NewOrganization) {
    const { id } = parseInput(newOrganization, input);
    if ((await organizations.find(id)) !== undefined) {
      throw new OperatorError('duplicate_key', `The organization ${id} already exists.`);
    }
    return { removedAt: await organizations.removedAt(id) };
  }

  return {
    ...createOrganizationRemovals(dependencies),

    /** In the order of their ids, or of names. */
    async list(filter: z.input<typeof organizationFilter> = {}): Promise<Page<OrganizationView>> {
      const { search, cursor, limit } = parseInput(organizationFilter, filter);
      const after = readCursor(z.string(), cursor);
      const { items, next } = await organizations.page({ search, after, limit });
      return { items: items.map(withVersion), next: next && toCursor(next) };
    },

    read: async (id: string): Promise<OrganizationView> =>
      withVersion(await findOrganization(id, identity)),

    /** When an organization with this id was removed, in epoch seconds. */
    previewCreation,

    /** @param options.reusesId a new organization gets the devices of a removed one with its id */
    async create(
      operator: Operator,
      input: NewOrganization,
      { reusesId = false }: { readonly reusesId?: boolean } = {},
    ): Promise<OrganizationView> {
      const { removedAt } = await previewCreation(input);
      if (removedAt !== undefined && !reusesId) {
        throw new OperatorError(
          'conflict',
          `An organization ${input.id} was removed, and the new one would get its devices. Confirm it, or choose another id.`,
        );
      }
      const organization = parseInput(newOrganization, input);
      await organizations.add(organization);
      await record(operator, { event: 'organization_added', organizationId: organization.id });
      return withVersion(organization);
    },

    async change(
      operator: Operator,
      id: string,
      input: OrganizationChange,
      condition: Condition = {},
    ): Promise<OrganizationView> {
      const change = parseInput(organizationChange, input);
      await findOrganization(id, identity);
      const { before, after } = await organizations.change(id, (current) => {
        assertVersion(withVersion(current), condition);
        return { ...current, ...change };
      });
      if (before.name !== after.name) {
        const changes = [{ member: 'name', from: before.name, to: after.name }];
        await record(operator, { event: 'organization_changed', organizationId: id, changes });
      }
      return withVersion(after);
    },
  };
}

function createOrganizationRemovals({ identity, record }: Dependencies) {
  /** Also finds what an interrupted removal left behind. */
  async function previewRemoval(id: string) {
    const { clients, users } = await identity.removals.membersOf(id);
    if (clients.length + users.length === 0) {
      await findOrganization(id, identity);
    }
    return {
      organizationId: id,
      clientIds: clients.map(({ clientId }) => clientId),
      users: users.length,
    };
  }

  return {
    previewRemoval,

    /** Removes the organization with all of its clients and users. */
    async remove(operator: Operator, id: string, condition: Condition = {}) {
      await previewRemoval(id);
      const counts = await identity.removals.organization(
        id,
        (event) => record(operator, event),
        condition.ifVersion === undefined
          ? undefined
          : (current) => assertVersion(withVersion(orNotFound(current, MISSING)), condition),
      );
      return { organizationId: id, ...counts };
    },
  };
}

const findOrganization = async (id: string, { organizations }: Identity) =>
  orNotFound(await organizations.find(id), MISSING);
