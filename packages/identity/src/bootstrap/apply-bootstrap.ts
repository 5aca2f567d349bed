import { ConfigurationError, type ConfigurationProblem } from '@gatehouse/configuration';
import type { ClientRegistry } from '../clients/clients.ts';
import type { OrganizationRegistry } from '../organizations/organizations.ts';
import type { UserRegistry } from '../users/user.ts';
import type { BootstrapDefinition } from './bootstrap-schema.ts';

/** The registries that a bootstrap definition changes. */
export interface Registries {
  readonly organizations: OrganizationRegistry;
  readonly clients: ClientRegistry;
  readonly users: UserRegistry;
}

/**
 * Creates and updates the records in the definition. Other records do not change. A new secure key
 * becomes the second active key of its client. A third key replaces the oldest and revokes its
 * tokens, unless `keepTokens` is set. Idempotent, also if several processes start together.
 *
 * @throws ConfigurationError if a client or user names an organization that does not exist
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
          message: 'names an organization that does not exist',
        });
      }
    }
  }
  if (problems.length > 0) {
    throw new ConfigurationError(problems);
  }
}
