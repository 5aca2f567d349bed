import type { Client } from '../clients/client.ts';
import type { ClientRegistry } from '../clients/clients.ts';
import type { User, UserRegistry } from '../users/user.ts';
import type { NotBefore } from './not-before.ts';

/** Of a token, code, session or grant: when it was issued and for whom. */
export interface IssuedCredential {
  /** Epoch seconds. */
  readonly issuedAt: number;
  readonly clientId?: string | undefined;
  readonly userId?: string | undefined;
  /** The client's key that it was issued with; none for public clients and for what is issued without a secret. */
  readonly secureKeyId?: string | undefined;
}

/** Who is behind a credential, as far as it names them. */
export interface LiveHolder {
  readonly client: Client | undefined;
  readonly user: User | undefined;
}

/**
 * Undefined when the credential is dead: its client or user is unknown, disabled or has a later not-before,
 * or the whole installation has, or its client no longer has the key that it was issued with, or the client signs in its own organisation's users only and this is none. From
 * copies at most 50 ms old.
 */
export type FindLiveHolder = (credential: IssuedCredential) => Promise<LiveHolder | undefined>;

export function createLiveHolders(dependencies: {
  readonly clients: ClientRegistry;
  readonly users: UserRegistry;
  readonly notBefore: NotBefore;
}): FindLiveHolder {
  const { clients, users, notBefore } = dependencies;
  return async ({ issuedAt, clientId, userId, secureKeyId }) => {
    if (issuedAt <= (await notBefore.read())) {
      return undefined;
    }
    const client = clientId === undefined ? undefined : await clients.find(clientId);
    const user = userId === undefined ? undefined : await users.find(userId);
    const isAlive = (holder: Client | User | undefined) =>
      holder?.enabled === true && issuedAt > holder.notBefore;
    const isDead =
      (clientId !== undefined && !isAlive(client)) || (userId !== undefined && !isAlive(user));
    const isForeign =
      client?.ownOrganizationOnly === true && user !== undefined && user.orgId !== client.orgId;
    const isOfRemovedKey =
      secureKeyId !== undefined &&
      (client === undefined || !clients.isLiveKey(client, secureKeyId));
    return isDead || isForeign || isOfRemovedKey ? undefined : { client, user };
  };
}
