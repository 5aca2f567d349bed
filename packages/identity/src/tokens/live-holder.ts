import type { Store } from '@gatehouse/store';
import type { Client } from '../clients/client.ts';
import type { ClientRegistry } from '../clients/clients.ts';
import { createRecordCache } from '../records/record-cache.ts';
import { withRecordLock } from '../records/record-lock.ts';
import type { User } from '../users/user.ts';
import type { UserRegistry } from '../users/users.ts';

/** Describes a token, code, session or grant. */
interface IssuedCredential {
  /** Epoch seconds. */
  readonly issuedAt: number;
  readonly clientId?: string | undefined;
  readonly userId?: string | undefined;
  /** The secure key that the client authenticated with, if any. */
  readonly secureKeyId?: string | undefined;
}

/** The client and the user that a credential names. */
export interface LiveHolder {
  readonly client: Client | undefined;
  readonly user: User | undefined;
}

/**
 * Returns undefined if the credential is invalid for one of these reasons:
 *
 * - Its client or user is unknown or disabled, or has a later not-before.
 * - The installation has a later not-before.
 * - The client no longer has the key that the credential was issued with.
 * - The client accepts only users of its organization, and the user belongs to another.
 *
 * Reads copies that are at most 50 ms old.
 */
export type FindLiveHolder = (credential: IssuedCredential) => Promise<LiveHolder | undefined>;

export function createLiveHolders({
  clients,
  users,
  notBefore,
}: {
  readonly clients: ClientRegistry;
  readonly users: UserRegistry;
  readonly notBefore: NotBefore;
}): FindLiveHolder {
  return async ({ issuedAt, clientId, userId, secureKeyId }) => {
    if (issuedAt <= (await notBefore.read())) {
      return undefined;
    }
    const client = clientId === undefined ? undefined : await clients.find(clientId);
    const user = userId === undefined ? undefined : await users.find(userId);
    const isLive = (holder: Client | User | undefined) =>
      holder?.enabled === true && issuedAt > holder.notBefore;
    const isRevoked =
      (clientId !== undefined && !isLive(client)) || (userId !== undefined && !isLive(user));
    const isForeign =
      client?.ownOrganizationOnly === true && user !== undefined && user.orgId !== client.orgId;
    const isOfRemovedKey =
      secureKeyId !== undefined &&
      (client === undefined || !clients.isLiveKey(client, secureKeyId));
    return isRevoked || isForeign || isOfRemovedKey ? undefined : { client, user };
  };
}

const KEY = 'not-before';

/** A damaged not-before revokes everything until an operator sets it again. */
const parse = (text: string) => (/^\d{1,12}$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY);

export type NotBefore = ReturnType<typeof createNotBefore>;

/** Revokes all credentials of the installation that were issued at this time or earlier. */
export function createNotBefore(store: Store, now: () => number) {
  const cache = createRecordCache(store, parse, now);
  return {
    /** Epoch seconds. The copy is at most 50 ms old. */
    read: async (): Promise<number> => (await cache.read(KEY)) ?? 0,
    /** Ignores earlier times. */
    advance: (notBefore: number): Promise<void> =>
      withRecordLock(store, KEY, async (assertHeld) => {
        const existing = parse((await store.get(KEY)) ?? '0');
        assertHeld();
        if (notBefore > existing || !Number.isFinite(existing)) {
          await store.set(KEY, String(notBefore), undefined, { revokes: true });
        }
        cache.forget(KEY);
      }),
  };
}
