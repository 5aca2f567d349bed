import { ConfigurationError, type ConfigurationProblem } from '@gatehouse/server/configuration';
import type { Client } from '../clients/client.ts';
import type { ClientRegistry } from '../clients/clients.ts';
import type { AuditEvent } from '../log/audit-event.ts';
import type { OrganizationRegistry } from '../records/organizations.ts';
import type { User } from '../users/user.ts';
import type { UserRegistry } from '../users/users.ts';
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
  for (const { secureKey, keepTokens, ...client } of definition.clients) {
    let before: Client | undefined;
    const onReplace = (existing: Client) => {
      before = existing;
    };
    const { clients } = registries;
    const after = await clients.save(client, secureKey, { keepTokens, onReplace });
    for (const change of before ? clientChanges(before, after, clients.describeKeys) : []) {
      await onChange?.(change);
    }
  }
  for (const user of definition.users) {
    let before: User | undefined;
    const after = await registries.users.ensure(user, (existing) => {
      before = existing;
    });
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
export function clientChanges(
  before: Client,
  after: Client,
  describeKeys: ClientRegistry['describeKeys'],
): readonly AuditEvent[] {
  const { clientId } = after;
  const idsOf = (client: Client) => describeKeys(client).map(({ keyId }) => keyId);
  const [old, current] = [idsOf(before), idsOf(after)];
  const changed = { event: 'client_changed', clientId } as const;
  return [
    ...current
      .filter((keyId) => !old.includes(keyId))
      .map((keyId) => ({ ...changed, change: 'key_added', keyId }) as const),
    ...old
      .filter((keyId) => !current.includes(keyId))
      .map((keyId) => ({ ...changed, change: 'key_removed', keyId }) as const),
    ...stateChange(before, after).map((change) => ({ ...changed, change })),
  ];
}

/** What a bootstrap file changed about the access of an existing user, as audit events. */
export function userChanges(before: User, after: User): readonly AuditEvent[] {
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
