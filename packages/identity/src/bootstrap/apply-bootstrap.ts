import { ConfigurationError, type ConfigurationProblem } from '@gatehouse/server/configuration';
import { withDeclaredScopes } from '../clients/declared-scopes.ts';
import type { AuditEvent } from '../log/audit-event.ts';
import { settingsChangesOf } from '../log/audited-changes.ts';
import type { Identity } from '../open-identity.ts';
import { RejectedChangeError } from '../records/record.ts';
import { membersByOrganization, type SettingsMember } from '../settings/settings.ts';
import { assertDeclaredAttributes } from '../users/users.ts';
import type { BootstrapDefinition, Declarations } from './bootstrap-schema.ts';

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
  const problems = await findInapplicable(definition, registries);
  if (problems.length > 0) {
    throw new ConfigurationError(
      problems.map(({ name, message }) => ({ name: `BOOTSTRAP_FILE ${name}`, message })),
    );
  }
  const report = async (...events: readonly AuditEvent[]) => {
    for (const event of events) {
      await onChange?.(event);
    }
  };
  const { settings, organizations, clients, users, auditedChanges } = registries;
  const { definition: former } = await settings.preview({});
  const changedSettings = await settings.apply(definition);
  if (changedSettings.length > 0) {
    const { definition: current } = await settings.preview({});
    await report({ event: 'settings_changed', changes: settingsChangesOf(former, current) });
  }
  for (const organization of definition.organizations) {
    await organizations.save(organization);
  }
  for (const { secureKey, keepTokens, ...client } of definition.clients) {
    const before = await clients.find(client.clientId);
    const after = await clients.save(client, secureKey, { keepTokens });
    await (before && report(...auditedChanges.ofClient(before, after)));
  }
  for (const user of definition.users) {
    const before = await users.findByUsername(user.username);
    const after = await users.ensure(user);
    if (before !== undefined && before.passwordHash !== after.passwordHash) {
      await report({ event: 'user_changed', userId: after.userId, change: 'password_changed' });
    }
    await (before && report(...(await auditedChanges.ofUser(before, after))));
  }
  return changedSettings;
}

/**
 * What the entries name, but does not exist, with the settings that the definition will result in.
 *
 * @returns problems by their place, such as `clients.0.orgId`
 */
export async function findInapplicable(
  definition: Declarations & Partial<Pick<BootstrapDefinition, 'users'>>,
  registries: Pick<Registries, 'clients' | 'users'> & {
    readonly settings: Pick<Registries['settings'], 'preview'>;
    readonly organizations: Pick<Registries['organizations'], 'find'>;
  },
): Promise<readonly ConfigurationProblem[]> {
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
      problems.push({ name: member, message: error.message });
      return undefined;
    }
  }
  const added = new Set(definition.organizations.map(({ id }) => id));
  const { upstreams = [] } = definition;
  const named = [
    ...(['clients', 'users', 'browserHosts', 'upstreams'] as const).flatMap((kind) =>
      (definition[kind] ?? []).map(({ orgId }, i) => [`${kind}.${i}.orgId`, orgId]),
    ),
    ...upstreams.flatMap((upstream, i) =>
      Object.entries(upstream.organizations).map(([domain, orgId]) => [
        `upstreams.${i}.organizations.${domain}`,
        orgId,
      ]),
    ),
    ...membersByOrganization.flatMap((member) =>
      Object.keys(definition[member]?.organizations ?? {}).map((orgId) => [
        `${member}.organizations.${orgId}`,
        orgId,
      ]),
    ),
  ];
  for (const [member = '', orgId] of named) {
    if (orgId !== undefined && !added.has(orgId) && !(await organizations.find(orgId))) {
      const message = 'names an organization that does not exist';
      problems.push({ name: member, message });
    }
  }
  const declared = await attempt('resources', () => settings.preview(definition));
  if (declared === undefined) {
    return problems;
  }
  for (const [i, client] of definition.clients.entries()) {
    await attempt(`clients.${i}.scopes`, async () =>
      withDeclaredScopes(client, await clients.find(client.clientId), declared),
    );
  }
  for (const [i, user] of (definition.users ?? []).entries()) {
    await attempt(`users.${i}.attributes`, async () =>
      assertDeclaredAttributes(user, await users.findByUsername(user.username), declared),
    );
  }
  return problems;
}
