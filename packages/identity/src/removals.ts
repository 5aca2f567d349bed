/**
 * Removes users, clients and organizations. Without its record, or that of its organization, no
 * credential of a user or client is valid, so all end within 50 ms. The rest only frees space. The
 * audit trail stays. Its user ids are pseudonyms, because nothing leads from them to a person any more.
 */
import type { Client } from './clients/client.ts';
import type { ClientRegistry } from './clients/clients.ts';
import type { createRegistrationTokens } from './clients/registration-tokens.ts';
import type { AuditEvent } from './log/audit-event.ts';
import type { Organization, OrganizationRegistry } from './records/organizations.ts';
import type { RecordDependencies } from './records/record.ts';
import {
  clientRecordShards,
  clientShardKey,
  userGrantsKey,
  userSessionsKey,
  xAccessTokensKey,
} from './secrets/credential-keys.ts';
import type { SettingsRegistry } from './settings/settings.ts';
import type { ActionLinks } from './tokens/action-links.ts';
import type { LogoutQueue } from './tokens/logout-queue.ts';
import { type createRevocations, destroyGrant } from './tokens/revocations.ts';
import { factorsKey } from './users/factor-record.ts';
import type { UpstreamLinks } from './users/upstream-links.ts';
import type { User } from './users/user.ts';
import type { UserRegistry } from './users/users.ts';

/** At the same time. Each takes a lock and a few writes. */
const REMOVED_TOGETHER = 32;
/** The audit trail has an entry for each, unless they would displace too many other entries. */
const MAXIMUM_AUDITED = 500;

/** Stores an entry of the audit trail. */
type Audit = (event: AuditEvent) => Promise<void>;

export function createRemovals(
  dependencies: RecordDependencies & {
    readonly organizations: Pick<OrganizationRegistry, 'remove'>;
    readonly settings: Pick<SettingsRegistry, 'forgetOrganization'>;
    readonly clients: ClientRegistry;
    readonly users: UserRegistry;
    readonly registrationTokens: ReturnType<typeof createRegistrationTokens>;
    readonly revocations: ReturnType<typeof createRevocations>;
    readonly logouts: Pick<LogoutQueue, 'addForUser'>;
    readonly upstreamLinks: Pick<UpstreamLinks, 'removeAll'>;
    readonly actionLinks: Pick<ActionLinks, 'endForAddress'>;
  },
) {
  const { store, organizations, clients, users, revocations, logouts, now } = dependencies;

  async function membersOf(orgId: string) {
    const [registered, described, everyone] = await Promise.all([
      clients.list(),
      clients.listDocuments(),
      users.list(),
    ]);
    return {
      clients: [...registered, ...described].filter((client) => client.orgId === orgId),
      users: everyone.filter((user) => user.orgId === orgId),
    };
  }

  async function removeUser(
    user: User,
    audit: Audit | undefined,
    assertMay?: (user: User) => void,
  ): Promise<void> {
    const { userId, email = '', emailVerified } = user;
    // Reads the sessions, so it comes first.
    await logouts.addForUser(userId);
    // An older invitation must not bring the user back. An unverified address can be that of others.
    if (emailVerified) {
      await dependencies.actionLinks.endForAddress(email);
    }
    if ((await users.remove(userId, assertMay)) !== undefined) {
      await audit?.({ event: 'user_changed', userId, change: 'removed' });
    }
    await dependencies.upstreamLinks.removeAll(userId);
    for (const grantId of await store.members(userGrantsKey(userId))) {
      await destroyGrant(store, grantId, now());
    }
    const sessions = await store.members(userSessionsKey(userId));
    const indexes = [userSessionsKey(userId), userGrantsKey(userId)];
    await store.delete([...sessions, ...indexes, factorsKey(userId)]);
  }

  async function removeClient(
    { clientId }: Client,
    audit: Audit | undefined,
    assertMay?: (client: Client) => void,
  ): Promise<void> {
    if ((await clients.remove(clientId, assertMay)) !== undefined) {
      await audit?.({ event: 'client_changed', clientId, change: 'removed' });
    }
    await revocations.deleteTokens(clientId);
  }

  return {
    /** The clients and users of an organization. */
    membersOf,
    /** How many tokens and grants `client` will delete. Some may have been revoked before. */
    async countTokens(clientId: string): Promise<number> {
      const shards = clientRecordShards.map((shard) => clientShardKey(clientId, shard));
      const indexes = [...shards, xAccessTokensKey(clientId)];
      const found = await Promise.all(indexes.map((key) => store.members(key)));
      return found.reduce((sum, { length }) => sum + length, 0);
    },
    /** @param assertMay gets the record of this moment, and throws to keep it */
    user: (user: User, audit: Audit, assertMay?: (user: User) => void) =>
      removeUser(user, audit, assertMay),
    /** @param assertMay gets the record of this moment, and throws to keep it */
    client: (client: Client, audit: Audit, assertMay?: (client: Client) => void) =>
      removeClient(client, audit, assertMay),
    /**
     * Also continues a removal that was interrupted.
     *
     * @param assertMay gets the record of this moment, and throws to keep it
     * @returns how many members were removed with the organization
     */
    async organization(
      organizationId: string,
      audit: Audit,
      assertMay?: (organization: Organization | undefined) => void,
    ) {
      await organizations.remove(organizationId, assertMay);
      const removed = await membersOf(organizationId);
      const counts = { clients: removed.clients.length, users: removed.users.length };
      const audited = counts.clients + counts.users <= MAXIMUM_AUDITED ? audit : undefined;
      await audit({ event: 'organization_removed', organizationId, ...counts });
      await dependencies.registrationTokens.endOf(organizationId);
      await inGroups(removed.clients, (client) => removeClient(client, audited));
      await inGroups(removed.users, (user) => removeUser(user, audited));
      await dependencies.settings.forgetOrganization(organizationId);
      return counts;
    },
  };
}

async function inGroups<Item>(items: readonly Item[], work: (item: Item) => Promise<void>) {
  for (let start = 0; start < items.length; start += REMOVED_TOGETHER) {
    await Promise.all(items.slice(start, start + REMOVED_TOGETHER).map(work));
  }
}
