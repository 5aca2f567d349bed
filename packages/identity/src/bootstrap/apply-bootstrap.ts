import { ConfigurationError, type ConfigurationProblem } from '@gatehouse/server/configuration';
import type { Client } from '../clients/client.ts';
import type { ClientRegistry } from '../clients/clients.ts';
import type { AuditEvent } from '../log/audit-event.ts';
import type { Identity } from '../open-identity.ts';
import type { User } from '../users/user.ts';
import type { BootstrapDefinition } from './bootstrap-schema.ts';

/** The registries that a bootstrap definition changes. */
type Registries = Pick<Identity, 'organizations' | 'clients' | 'users'>;

/**
 * Creates and updates the records in the definition. Other records do not change. A new secure key
 * becomes the second active key of its client. A third key replaces the oldest and revokes its
 * tokens, unless `keepTokens` is set. Idempotent, also if several processes start together.
 *
 * @param onChange records added and removed keys, new states and new passwords of existing records.
 *   A restore of an earlier backup repeats them
 * @throws ConfigurationError if a client or user names an organization that does not exist
 */
export async function applyBootstrap(
  definition: BootstrapDefinition,
  registries: Registries,
  onChange?: (change: AuditEvent) => Promise<void>,
): Promise<void> {
  await assertOrganizationsExist(definition, registries);
  for (const organization of definition.organizations) {
    await registries.organizations.save(organization);
  }
  const { clients, users } = registries;
  for (const { secureKey, keepTokens, ...client } of definition.clients) {
    const before = await clients.find(client.clientId);
    const after = await clients.save(client, secureKey, { keepTokens });
    for (const change of before ? clientChanges(before, after, clients) : []) {
      await onChange?.(change);
    }
  }
  for (const user of definition.users) {
    const before = await users.findByUsername(user.username);
    const after = await users.ensure(user);
    for (const change of before ? userChanges(before, after) : []) {
      await onChange?.(change);
    }
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

/** What a bootstrap file gave to an existing client, or removed from it, as audit events. */
function clientChanges(
  before: Client,
  after: Client,
  { describeKeys }: ClientRegistry,
): readonly AuditEvent[] {
  const changed = { event: 'client_changed', clientId: after.clientId } as const;
  const idsOf = (client: Client) => describeKeys(client).map(({ keyId }) => keyId);
  const added = idsOf(after).filter((keyId) => !idsOf(before).includes(keyId));
  const removed = idsOf(before).filter((keyId) => !idsOf(after).includes(keyId));
  return [
    ...added.map((keyId) => ({ ...changed, change: 'key_added', keyId }) as const),
    ...removed.map((keyId) => ({ ...changed, change: 'key_removed', keyId }) as const),
    ...stateChange(before, after).map((change) => ({ ...changed, change })),
  ];
}

/** What a bootstrap file changed about the access of an existing user, as audit events. */
function userChanges(before: User, after: User): readonly AuditEvent[] {
  const changed = { event: 'user_changed', userId: after.userId } as const;
  const hasNewPassword = before.passwordHash !== after.passwordHash;
  return [
    ...(hasNewPassword ? [{ ...changed, change: 'password_changed' } as const] : []),
    ...stateChange(before, after).map((change) => ({ ...changed, change })),
  ];
}

type Enabled = Pick<Client, 'enabled'>;

function stateChange(before: Enabled, after: Enabled): readonly ('enabled' | 'disabled')[] {
  return before.enabled === after.enabled ? [] : [after.enabled ? 'enabled' : 'disabled'];
}
