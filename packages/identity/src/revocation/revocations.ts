import type { Store } from '@gatehouse/store';
import { z } from 'zod';
import type { Client } from '../clients/client.ts';
import type { ClientRegistry } from '../clients/clients.ts';
import { parseRecord } from '../records/parse-record.ts';
import type { CredentialHash } from '../secrets/credential-hash.ts';
import {
  credentialKey,
  GRANT_LIFETIME_SECONDS,
  grantKey,
  grantMembersKey,
  grantTombstoneKey,
  xAccessTokenKey,
} from '../secrets/credential-keys.ts';
import type { User, UserRegistry } from '../users/user.ts';
import type { NotBefore } from './not-before.ts';

/** What an operator takes back. All of it holds within 50 ms in every process that asks the store. */
export interface Revocations {
  /** Everything that was issued to anybody so far (RD-20: after a backup was restored, say). */
  everything(): Promise<void>;
  /** @throws RefusedChangeError when there is no such client */
  client(clientId: string): Promise<Client>;
  /** Signs the user out everywhere. @throws RefusedChangeError when there is no such user */
  user(userId: string): Promise<User>;
  /** An access token, refresh token or code, and with it everything of its grant; undefined when it is unknown. */
  token(value: string): Promise<RevokedToken | undefined>;
}

export interface RevokedToken {
  readonly kind: string;
  readonly clientId: string | undefined;
  readonly userId: string | undefined;
}

/** Kinds whose value somebody may hold in their hands. */
const kinds = ['AccessToken', 'RefreshToken', 'AuthorizationCode'];

const storedCredential = z.object({
  kind: z.string(),
  clientId: z.string().optional(),
  accountId: z.string().optional(),
  grantId: z.string().optional(),
});

export function createRevocations(dependencies: {
  readonly store: Store;
  readonly clients: ClientRegistry;
  readonly users: UserRegistry;
  readonly notBefore: NotBefore;
  readonly credentialHash: CredentialHash;
  readonly now: () => number;
}): Revocations {
  const { store, clients, users, notBefore, credentialHash, now } = dependencies;

  async function destroyGrant(grantId: string): Promise<void> {
    await store.set(grantTombstoneKey(grantId), '', GRANT_LIFETIME_SECONDS, { revokes: true });
    const members = await store.members(grantMembersKey(grantId));
    await store.delete([...members, grantMembersKey(grantId), grantKey(grantId)]);
  }

  return {
    everything: () => notBefore.advance(nextNotBefore(now())),
    client: (clientId) =>
      clients.update(clientId, (client) => ({ ...client, notBefore: nextNotBefore(now()) })),
    user: (userId) =>
      users.update(userId, (user) => ({ ...user, notBefore: nextNotBefore(now()) })),
    async token(value) {
      const hashed = credentialHash(value);
      const keys = kinds.map((kind) => credentialKey(kind, hashed));
      for (const key of [...keys, xAccessTokenKey(hashed)]) {
        const text = await store.get(key);
        const found = text === undefined ? undefined : parseRecord(storedCredential, text);
        if (found !== undefined) {
          if (found.grantId !== undefined) {
            await destroyGrant(found.grantId);
          }
          await store.delete([key]);
          return { kind: found.kind, clientId: found.clientId, userId: found.accountId };
        }
      }
      return undefined;
    },
  };
}

/**
 * A second ahead, because "issued then or earlier" counts in whole seconds, copies are up to 50 ms old and
 * clocks differ: what a request in flight still issues is dead too. So is what the next second issues.
 */
export function nextNotBefore(nowMilliseconds: number): number {
  return Math.floor(nowMilliseconds / 1000) + 1;
}
