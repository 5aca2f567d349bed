/**
 * Which user an account at an upstream provider signs in. A link names the account by a hash of its
 * issuer and subject, so that a provider that gets another issuer signs in nobody.
 */
import { NEVER_EXPIRES, type Store } from '@gatehouse/store';
import { withRecordLock } from '../records/record-lock.ts';
import type { CredentialHash } from '../secrets/credential-keys.ts';
import { generateId } from '../secrets/secure-keys.ts';
import type { Upstream } from '../settings/upstreams.ts';
import type { User } from './user.ts';
import type { UserRegistry } from './users.ts';

const PREFIX = 'upstream-link:';

/** The keys of a user's links. */
const linksKey = (userId: string) => `upstream-links:${userId}`;

interface LinkedUser {
  readonly userId: string;
  /** Reads or creates the user. */
  readonly open: () => Promise<User>;
}

export type UpstreamLinks = ReturnType<typeof createUpstreamLinks>;

export function createUpstreamLinks(dependencies: {
  readonly store: Store;
  readonly users: Pick<UserRegistry, 'read'>;
  readonly credentialHash: CredentialHash;
}) {
  const { store, users, credentialHash } = dependencies;
  const keyOf = ({ id, issuer, oauth }: Upstream, subject: string) =>
    `${PREFIX}${id}:${credentialHash(`${issuer ?? oauth?.userinfoEndpoint}\n${subject}`)}`;

  async function read(key: string): Promise<User | undefined> {
    const userId = await store.get(key);
    return userId === undefined ? undefined : users.read(userId);
  }

  /** The keys of the links that still lead to the user. */
  async function keysOf(userId: string): Promise<readonly string[]> {
    const keys = await store.members(linksKey(userId));
    const holders = await Promise.all(keys.map((key) => store.get(key)));
    return keys.filter((_key, i) => holders[i] === userId);
  }

  return {
    find: (upstream: Upstream, subject: string): Promise<User | undefined> =>
      read(keyOf(upstream, subject)),

    /**
     * The user of the account. Without one, `choose` decides which user gets it.
     *
     * @param choose gets an id for a new user. Undefined: there is no link
     */
    async ensure(
      upstream: Upstream,
      subject: string,
      choose: (newId: string) => Promise<LinkedUser | undefined>,
    ): Promise<User | undefined> {
      const key = keyOf(upstream, subject);
      return withRecordLock(store, key, async (assertHeld) => {
        const known = await read(key);
        if (known !== undefined) {
          return known;
        }
        const chosen = await choose(generateId());
        if (chosen === undefined) {
          return undefined;
        }
        assertHeld();
        // Before a new user, so that a process that dies leaves no user whom nothing signs in.
        await store.addToIndex(linksKey(chosen.userId), key, NEVER_EXPIRES);
        await store.set(key, chosen.userId);
        return chosen.open();
      });
    },

    /** The ids of the providers with an account of the user. */
    async list(userId: string): Promise<readonly string[]> {
      const ids = (await keysOf(userId)).map((key) => key.slice(PREFIX.length).split(':', 1)[0]);
      return [...new Set(ids.map(String))];
    },

    /** @returns whether there was a link */
    async unlink(userId: string, upstreamId: string): Promise<boolean> {
      const keys = await keysOf(userId);
      const removed = keys.filter((key) => key.startsWith(`${PREFIX}${upstreamId}:`));
      if (removed.length > 0) {
        await store.delete(removed);
      }
      for (const key of removed) {
        await store.removeFromIndex(linksKey(userId), key);
      }
      return removed.length > 0;
    },

    /** With the user. */
    async removeAll(userId: string): Promise<void> {
      await store.delete([...(await keysOf(userId)), linksKey(userId)]);
    },
  };
}
