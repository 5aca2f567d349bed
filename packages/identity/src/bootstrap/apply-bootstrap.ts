import { ConfigurationError, type ConfigurationProblem } from '@gatehouse/server/configuration';
import { withDeclaredScopes } from '../clients/declared-scopes.ts';
import type { AuditEvent } from '../log/audit-event.ts';
import { settingsChangesOf } from '../log/audited-changes.ts';
import type { Identity } from '../open-identity.ts';
import { RejectedChangeError } from '../records/record.ts';
import { membersByOrganization, type SettingsMember } from '../settings/settings.ts';
import { assertDeclaredAttributes } from '../users/users.ts';
import type { BootstrapDefinition } from './bootstrap-schema.ts';

/** The registries that a bootstrap definition changes. */
type Registries = Pick<
  Identity,
  'settings' | 'organizations' | 'clients' | 'users' | 'auditedChanges'
>;

/**
 * Creates and updates the records in the definition, after all checks. Other records do not change. A new secure key
 * becomes the second active key of its client. A third key replaces the oldest and revokes its
 * tokens, unless `keepTokens` is set. Idempotent, also if several processes start together.
 *
 * @param onChange records changed members, added and removed keys, new states and new passwords of existing records.
 *   A restore of an earlier backup repeats them
 * @returns the members of the settings that changed
 * @throws ConfigurationError if an entry names an organization that does not exist, or a scope,
 *   resource or attribute that is not declared
 */
export async function applyBootstrap(
  definition: BootstrapDefinition,
  registries: Registries,
  onChange?: (change: AuditEvent) => Promise<void>,
): Promise<readonly SettingsMember[]> {
  await assertApplicable(definition, registries);
  const { definition: before } = await registries.settings.preview({});
  const changedSettings = await registries.settings.apply(definition);
  if (changedSettings.length > 0) {
    const { definition: after } = await registries.settings.preview({});
    await onChange?.({ event: 'settings_changed', changes: settingsChangesOf(before, after) });
  }
  for (const organization of definition.organizations) {
    await registries.organizations.save(organization);
  }
  const { clients, users, auditedChanges } = registries;
  for (const { secureKey, keepTokens, ...client } of definition.clients) {
    const before = await clients.find(client.clientId);
    const after = await clients.save(client, secureKey, { keepTokens });
    for (const change of before ? auditedChanges.ofClient(before, after) : []) {
      await onChange?.(change);
    }
  }
  for (const user of definition.users) {
    const before = await users.findByUsername(user.username);
    const after = await users.ensure(user);
    if (before !== undefined && before.passwordHash !== after.passwordHash) {
      const { userId } = after;
      await onChange?.({ event: 'user_changed', userId, change: 'password_changed' });
    }
    for (const change of before ? await auditedChanges.ofUser(before, after) : []) {
      await onChange?.(change);
    }
  }
  return changedSettings;
}

/** Checks what the entries name, with the settings that the definition will result in. */
export async function assertApplicable(
  definition: BootstrapDefinition,
  registries: Pick<Registries, 'clients' | 'users'> & {
    readonly settings: Pick<Registries['settings'], 'preview'>;
    readonly organizations: Pick<Registries['organizations'], 'find'>;
  },
): Promise<void> {
  const { settings, organizations, clients, users } = registries;
  const problems: ConfigurationProblem[] = [];
  /** Reports a rejected change as a problem of the file. */
  async function attempt<Result>(member: string, check: () => Promise<Result>) {
    try {
      return await check();
    } catch (error) {
      if (!(error instanceof RejectedChangeError)) {
        throw error;
      }
      problems.push({ name: `BOOTSTRAP_FILE ${member}`, message: error.message });
      return undefined;
    }
  }
  const added = new Set(definition.organizations.map(({ id }) => id));
  const assertExists = async (orgId: string | undefined) => {
    if (orgId !== undefined && !added.has(orgId) && !(await organizations.find(orgId))) {
      throw new RejectedChangeError('names an organization that does not exist');
    }
  };
  for (const kind of ['clients', 'users', 'browserHosts', 'upstreams'] as const) {
    for (const [i, { orgId }] of (definition[kind] ?? []).entries()) {
      await attempt(`${kind}.${i}.orgId`, () => assertExists(orgId));
    }
  }
  for (const [i, upstream] of (definition.upstreams ?? []).entries()) {
    for (const [domain, orgId] of Object.entries(upstream.organizations)) {
      await attempt(`upstreams.${i}.organizations.${domain}`, () => assertExists(orgId));
    }
  }
  for (const member of membersByOrganization) {
    for (const orgId of Object.keys(definition[member]?.organizations ?? {})) {
      await attempt(`${member}.organizations.${orgId}`, () => assertExists(orgId));
    }
  }
  const declared = await attempt('resources', () => settings.preview(definition));
  if (declared === undefined) {
    throw new ConfigurationError(problems);
  }
  for (const [i, client] of definition.clients.entries()) {
    await attempt(`clients.${i}.scopes`, async () =>
      withDeclaredScopes(client, await clients.find(client.clientId), declared),
    );
  }
  for (const [i, user] of definition.users.entries()) {
    await attempt(`users.${i}.attributes`, async () =>
      assertDeclaredAttributes(user, await users.findByUsername(user.username), declared),
    );
  }
  if (problems.length > 0) {
    throw new ConfigurationError(problems);
  }
}
