import type { Store } from '@gatehouse/store';
import { z } from 'zod';
import type { Client } from '../clients/client.ts';
import type { ClientRegistry } from '../clients/clients.ts';
import { nextNotBefore, parseRecord } from '../records/record.ts';
import {
  browserSessionKey,
  type CredentialHash,
  clientRecordShards,
  clientShardKey,
  credentialId,
  credentialKey,
  grantKey,
  grantMembersKey,
  grantTombstoneKey,
  tombstoneSeconds,
  xAccessTokenKey,
  xAccessTokensKey,
} from '../secrets/credential-keys.ts';
import { isBrowserClientId } from '../settings/browser-host.ts';
import type { User } from '../users/user.ts';
import type { UserRegistry } from '../users/users.ts';
import type { FindLiveHolder, NotBefore } from './access-tokens.ts';
import { isJwt, type JwtAccessTokens, tombstoneOf } from './jwt-access-tokens.ts';
import type { LogoutQueue } from './logout-queue.ts';
import { X_ACCESS_TOKEN } from './x-access-tokens.ts';

/** The kinds of credentials that an operator can revoke by value. */
const kinds = ['AccessToken', 'RefreshToken', 'AuthorizationCode', 'InitialAccessToken'];

/** Each deletion must end within the deadline of the store. */
const DELETED_TOGETHER = 500;

const storedCredential = z.object({
  kind: z.string(),
  clientId: z.string().optional(),
  accountId: z.string().optional(),
  grantId: z.string().optional(),
  scope: z.string().optional(),
  /** Of an access token. Others have `resource`. */
  aud: z.string().optional(),
  resource: z.union([z.string(), z.array(z.string())]).optional(),
  secureKeyId: z.string().optional(),
  iat: z.number().optional(),
  exp: z.number().optional(),
  issuedAt: z.number().optional(),
  expiresAt: z.number().optional(),
});

/** Revocations by operators. They take effect in all processes within 50 ms. */
export function createRevocations(dependencies: {
  readonly store: Store;
  readonly clients: ClientRegistry;
  readonly users: UserRegistry;
  readonly notBefore: NotBefore;
  readonly findLiveHolder: FindLiveHolder;
  readonly credentialHash: CredentialHash;
  readonly jwtAccessTokens: Pick<JwtAccessTokens, 'read'>;
  readonly logouts: Pick<LogoutQueue, 'addForUser'>;
  readonly now: () => number;
}) {
  const { store, clients, users, notBefore, credentialHash, now } = dependencies;

  async function locateJwt(value: string) {
    const claims = await dependencies.jwtAccessTokens.read(value);
    if (claims === undefined) {
      return undefined;
    }
    const { user: userId, grant: grantId, key: keyId } = claims.gatehouse;
    const tokenIds = [credentialId(credentialHash(claims.jti))];
    const { client_id: clientId, iat: issuedAt, exp: expiresAt, aud: resource, scope } = claims;
    const credential = { kind: 'AccessToken', clientId, userId, tokenIds, grantId };
    return {
      credential: { ...credential, scope, resource, keyId, issuedAt, expiresAt },
      tombstone: tombstoneOf(claims),
      /** Services that are not behind the gateway accept the token until it expires. */
      async end() {
        const seconds = expiresAt - Math.floor(now() / 1000);
        if (grantId === undefined && seconds > 0) {
          await store.set(grantTombstoneKey(claims.jti), '', seconds, { revokes: true });
        }
      },
    };
  }

  async function locate(value: string) {
    if (isJwt(value)) {
      return locateJwt(value);
    }
    const hashed = credentialHash(value);
    const keys = kinds.map((kind) => credentialKey(kind, hashed));
    for (const key of [...keys, xAccessTokenKey(hashed), browserSessionKey(hashed)]) {
      const found = parseRecord(storedCredential, await store.get(key));
      if (found !== undefined) {
        const { kind, clientId, accountId: userId, grantId, scope, secureKeyId: keyId } = found;
        const resource = [found.aud ?? found.resource ?? []].flat()[0];
        const credential = { kind, clientId, userId, tokenIds: [credentialId(hashed)], grantId };
        return {
          credential: { ...credential, scope, resource, keyId, ...timesOf(found) },
          tombstone: grantId,
          end: () => store.delete([key]),
        };
      }
    }
    return undefined;
  }

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
    /**
     * @param change made in the same step, such as `enabled: false`
     * @throws RejectedChangeError if the client does not exist
     */
    client: (clientId: string, change: Partial<Client> = {}): Promise<Client> =>
      clients.update(clientId, (client) => {
        return { ...client, ...change, notBefore: nextNotBefore(now()) };
      }),
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
    /** A credential by its value, and whether it was revoked. Undefined if it is unknown. */
    async find(value: string) {
      const located = await locate(value);
      if (located === undefined) {
        return undefined;
      }
      const { credential, tombstone } = located;
      const { clientId, userId, issuedAt, keyId: secureKeyId } = credential;
      // A client of a browser session has no record. The session ends with its user and its grant.
      const holder = isBrowserClientId(clientId) ? { userId } : { clientId, userId, secureKeyId };
      const isLive = (await dependencies.findLiveHolder({ issuedAt, ...holder })) !== undefined;
      const isEnded = tombstone !== undefined && (await isGrantRevoked(store, tombstone));
      return { ...credential, isRevoked: !isLive || isEnded };
    },
    /**
     * Revokes an access token, refresh token, code or browser session with its grant. Undefined if it
     * is unknown.
     */
    async token(value: string) {
      const located = await locate(value);
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

/** In epoch seconds. X-Access-Tokens expire at a time in milliseconds. */
function timesOf({ kind, iat, exp, issuedAt, expiresAt }: z.infer<typeof storedCredential>) {
  const seconds = kind === X_ACCESS_TOKEN && expiresAt ? Math.floor(expiresAt / 1000) : expiresAt;
  return { issuedAt: iat ?? issuedAt ?? 0, expiresAt: exp ?? seconds };
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
