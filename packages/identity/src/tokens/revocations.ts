import type { Store } from '@gatehouse/store';
import type { Client } from '../clients/client.ts';
import type { ClientRegistry } from '../clients/clients.ts';
import { nextNotBefore } from '../records/record.ts';
import {
  clientRecordShards,
  clientShardKey,
  grantKey,
  grantMembersKey,
  grantTombstoneKey,
  tombstoneSeconds,
  xAccessTokenKey,
  xAccessTokensKey,
} from '../secrets/credential-keys.ts';
import type { User } from '../users/user.ts';
import type { UserRegistry } from '../users/users.ts';
import type { NotBefore } from './access-tokens.ts';
import { type CredentialName, createCredentialLookup } from './credential-lookup.ts';
import type { LogoutQueue } from './logout-queue.ts';

/** Each deletion must end within the deadline of the store. */
const DELETED_TOGETHER = 500;

/** Revocations by operators. They take effect in all processes within 50 ms. */
export function createRevocations(
  dependencies: Parameters<typeof createCredentialLookup>[0] & {
    readonly clients: ClientRegistry;
    readonly users: UserRegistry;
    readonly notBefore: NotBefore;
    readonly logouts: Pick<LogoutQueue, 'addForUser'>;
  },
) {
  const { store, clients, users, notBefore, now } = dependencies;
  const { locate, find } = createCredentialLookup(dependencies);

  async function deleteIndexed(indexKey: string, keysOf: (member: string) => Promise<string[]>) {
    const members = await store.members(indexKey);
    for (let start = 0; start < members.length; start += DELETED_TOGETHER) {
      const some = await Promise.all(members.slice(start, start + DELETED_TOGETHER).map(keysOf));
      await store.delete(some.flat());
    }
    await store.delete([indexKey]);
  }

  async function recordsOf(key: string): Promise<string[]> {
    if (!key.startsWith(grantKey(''))) {
      return [key];
    }
    const members = grantMembersKey(key.slice(grantKey('').length));
    return [...(await store.members(members)), members, key];
  }

  return {
    /**
     * Deletes the tokens and grants of a client from the store, to free their space. Call it after
     * the client was revoked or disabled. Claims stay until they expire.
     */
    async deleteTokens(clientId: string): Promise<void> {
      for (const shard of clientRecordShards) {
        await deleteIndexed(clientShardKey(clientId, shard), recordsOf);
      }
      await deleteIndexed(xAccessTokensKey(clientId), async (member) => [xAccessTokenKey(member)]);
    },
    /** Revokes all credentials, for example after a backup was restored. */
    everything: (): Promise<void> => notBefore.advance(nextNotBefore(now())),
    /** @throws RejectedChangeError if the client does not exist */
    client: (clientId: string): Promise<Client> =>
      clients.update(clientId, (client) => ({ ...client, notBefore: nextNotBefore(now()) })),
    /**
     * Signs the user out everywhere.
     *
     * @param change made in the same step, such as a new password
     * @throws RejectedChangeError if the user does not exist
     */
    async user(userId: string, change: Partial<User> = {}): Promise<User> {
      await dependencies.logouts.addForUser(userId);
      const notBefore = nextNotBefore(now());
      return users.update(userId, (user) => ({ ...user, ...change, notBefore }));
    },
    find,
    /**
     * Revokes an access token, refresh token, code or browser session with its grant. Undefined if it
     * is unknown.
     */
    async token(name: CredentialName) {
      const located = await locate(name);
      if (located === undefined) {
        return undefined;
      }
      const { kind, clientId, userId, tokenIds, grantId } = located.credential;
      if (grantId !== undefined) {
        await destroyGrant(store, grantId, now());
      }
      await located.end();
      return { kind, clientId, userId, tokenIds, grantId };
    },
    /** How many credentials `token` and other revocations of a grant end. */
    countOfGrant: async (grantId: string): Promise<number> =>
      (await store.members(grantMembersKey(grantId))).length,
  };
}

/**
 * Whether the grant has a tombstone. A revocation also deletes the tokens in the index of the
 * grant. The tombstone protects against a lost index.
 */
export async function isGrantRevoked(store: Store, grantId: string): Promise<boolean> {
  return (await store.get(grantTombstoneKey(grantId))) !== undefined;
}

/** Revokes a grant with everything that was issued under it. */
export async function destroyGrant(store: Store, grantId: string, now: number): Promise<void> {
  const seconds = tombstoneSeconds(await store.get(grantKey(grantId)), now);
  await store.set(grantTombstoneKey(grantId), '', seconds, { revokes: true });
  const members = await store.members(grantMembersKey(grantId));
  await store.delete([...members, grantMembersKey(grantId), grantKey(grantId)]);
}
