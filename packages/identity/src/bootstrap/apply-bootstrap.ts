import { ConfigurationError, type ConfigurationProblem } from '@gatehouse/configuration';
import type { ClientRegistry } from '../clients/clients.ts';
import type { OrganizationRegistry } from '../organizations/organizations.ts';
import type { UserRegistry } from '../users/user.ts';
import type { BootstrapDefinition } from './bootstrap-schema.ts';

/** The registries that a bootstrap definition fills. */
export interface Registries {
  readonly organizations: OrganizationRegistry;
  readonly clients: ClientRegistry;
  readonly users: UserRegistry;
}

/**
 * Brings the store in line with the definition. Idempotent: what it does not name stays as it is, and a
 * changed secureKey becomes the client's second active key. A third one pushes the oldest out, and revokes its
 * tokens unless `keepTokens` is set. Several processes may start at once: the
 * registries let them take turns, record by record, and the second finds nothing left to change.
 *
 * @throws ConfigurationError when a client or user names an organisation that does not exist
 */
export async function applyBootstrap(
  definition: BootstrapDefinition,
  registries: Registries,
): Promise<void> {
  await assertOrganizationsExist(definition, registries);
  for (const organization of definition.organizations) {
    await registries.organizations.save(organization);
  }
  for (const { secureKey, keepTokens, ...client } of definition.clients) {
    await registries.clients.save(client, secureKey, { keepTokens });
  }
  for (const user of definition.users) {
    await registries.users.ensure(user);
  }
}

async function assertOrganizationsExist(
  definition: BootstrapDefinition,
  registries: Registries,
): Promise<void> {
  const named = new Set(definition.organizations.map((organization) => organization.id));
  const problems: ConfigurationProblem[] = [];
  for (const kind of ['clients', 'users'] as const) {
    for (const [i, { orgId }] of definition[kind].entries()) {
      if (!named.has(orgId) && (await registries.organizations.find(orgId)) === undefined) {
        problems.push({
          name: `BOOTSTRAP_FILE ${kind}.${i}.orgId`,
          message: 'names an organisation that does not exist',
        });
      }
    }
  }
  if (problems.length > 0) {
    throw new ConfigurationError(problems);
  }
}
