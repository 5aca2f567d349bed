/**
 * Which user an account at an upstream provider signs in. A link names the account by a hash of its
 * issuer and subject, so that a provider that gets another issuer signs in nobody.
 */
import { NEVER_EXPIRES } from '@gatehouse/store';
import { withRecordLock } from '../records/record-lock.ts';
import type { SecretDependencies } from '../secrets/seal.ts';
import { generateId } from '../secrets/secure-keys.ts';
import type { Upstream } from '../settings/upstreams.ts';
import type { User } from './user.ts';
import type { UserRegistry } from './users.ts';

const PREFIX = 'upstream-link:';

const upstreamIdOf = (key: string) => key.slice(PREFIX.length).split(':', 1).join();
/** The keys of a user's links. */
const linksKey = (userId: string) => `upstream-links:${userId}`;

export type UpstreamLinks = ReturnType<typeof createUpstreamLinks>;

export function createUpstreamLinks({
  store,
  users,
  credentialHash,
}: SecretDependencies & { readonly users: Pick<UserRegistry, 'read'> }) {
  const keyOf = ({ id, issuer, oauth }: Upstream, subject: string) =>
    `${PREFIX}${id}:${credentialHash(`${issuer ?? oauth?.userinfoEndpoint}\n${subject}`)}`;

  async function find(upstream: Upstream, subject: string): Promise<User | undefined> {
    const userId = await store.get(keyOf(upstream, subject));
    return userId === undefined ? undefined : users.read(userId);
  }

  /** The keys of the links that still lead to the user. */
  async function keysOf(userId: string): Promise<readonly string[]> {
    const keys = await store.members(linksKey(userId));
    const holders = await Promise.all(keys.map((key) => store.get(key)));
    return keys.filter((_key, i) => holders[i] === userId);
  }

  return {
    find,

    /**
     * The user of the account. Without one, `choose` decides which user gets it.
     *
     * @param choose calls `link`, which returns the id of the user: a new one by default. A new user
     *   is linked first, so that a process that dies leaves no user whom nothing signs in
     */
    ensure: async (
      upstream: Upstream,
      subject: string,
      choose: (link: (userId?: string) => Promise<string>) => Promise<User>,
    ): Promise<User> => {
      const key = keyOf(upstream, subject);
      const known = await find(upstream, subject);
      return (
        known ??
        withRecordLock(store, key, async (assertHeld) => {
          const link = async (userId = generateId()) => {
            assertHeld();
            await store.addToIndex(linksKey(userId), key, NEVER_EXPIRES);
            await store.set(key, userId);
            return userId;
          };
          return (await find(upstream, subject)) ?? choose(link);
        })
      );
    },

    /** The ids of the providers with an account of the user. */
    list: async (userId: string): Promise<readonly string[]> => [
      ...new Set((await keysOf(userId)).map(upstreamIdOf)),
    ],

    /** @returns whether there was a link */
    async unlink(userId: string, upstreamId: string): Promise<boolean> {
      const removed = (await keysOf(userId)).filter((key) => upstreamIdOf(key) === upstreamId);
      await store.delete(removed);
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
