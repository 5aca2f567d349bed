import { ConfigurationError, type ConfigurationProblem } from '@gatehouse/configuration';
import type { Identity } from '../open-identity.ts';
import type { BootstrapDefinition } from './bootstrap-schema.ts';

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
  identity: Identity,
): Promise<void> {
  await assertOrganizationsExist(definition, identity);
  for (const organization of definition.organizations) {
    await identity.organizations.save(organization);
  }
  for (const { secureKey, keepTokens, ...client } of definition.clients) {
    await identity.clients.save(client, secureKey, { keepTokens });
  }
  for (const user of definition.users) {
    await identity.users.ensure(user);
  }
}

async function assertOrganizationsExist(
  definition: BootstrapDefinition,
  identity: Identity,
): Promise<void> {
  const named = new Set(definition.organizations.map((organization) => organization.id));
  const problems: ConfigurationProblem[] = [];
  for (const kind of ['clients', 'users'] as const) {
    for (const [i, { orgId }] of definition[kind].entries()) {
      if (!named.has(orgId) && (await identity.organizations.find(orgId)) === undefined) {
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
