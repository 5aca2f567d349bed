import type { Store } from '@gatehouse/store';
import { RejectedChangeError } from '../records/record.ts';
import { withRecordLock } from '../records/record-lock.ts';
import { canonicalEmail, canonicalUsername, type User } from './user.ts';

type Find = (userId: string) => Promise<User | undefined>;

export const usernameKeyOf = (username: string) => `username:${canonicalUsername(username)}`;
/** Points to the user who verified this address. */
const emailKeyOf = (email: string) => `email:${canonicalEmail(email)}`;

export const nameTaken = () => new RejectedChangeError('A user with this username already exists.');

export const isNamed = (user: User, username: string): boolean =>
  canonicalUsername(user.username) === canonicalUsername(username);

/** Finds users by username and address. The record of a user confirms both. */
export function createNameIndex(
  store: Store,
  users: { readonly find: Find; readonly readStored: Find },
) {
  async function findBy(key: string, confirms: (user: User) => boolean) {
    const userId = await store.get(key);
    const user = userId === undefined ? undefined : await users.find(userId);
    return user && confirms(user) ? user : undefined;
  }

  /** The user with this verified address, compared without regard to case. */
  const findByEmail = (email: string) =>
    findBy(emailKeyOf(email), (user) => hasVerified(user, email));

  /** The keys that lead to the user. An address can belong to another one. */
  async function keysOf({ userId, username, email = '' }: User): Promise<readonly string[]> {
    const emailKey = emailKeyOf(email);
    const hasEmail = (await store.get(emailKey)) === userId;
    return [usernameKeyOf(username), ...(hasEmail ? [emailKey] : [])];
  }

  return {
    keysOf,
    findByUsername: (username: string) =>
      findBy(usernameKeyOf(username), (user) => isNamed(user, username)),
    findByEmail,
    /**
     * Creates a user while no other one has the verified address. Two people who create accounts with
     * the same address get one account.
     *
     * @throws RejectedChangeError if a user has it
     */
    whileEmailFree: async (
      { email = '', emailVerified }: Pick<User, 'email' | 'emailVerified'>,
      create: () => Promise<User>,
    ): Promise<User> =>
      emailVerified
        ? withRecordLock(store, emailKeyOf(email), async (assertHeld) => {
            if ((await findByEmail(email)) !== undefined) {
              throw new RejectedChangeError('A user with this address already exists.');
            }
            assertHeld();
            return create();
          })
        : create(),
    /** @throws RejectedChangeError if another user has the name */
    async claimUsername({ userId, username }: User, existing: User | undefined): Promise<void> {
      const isKept = existing !== undefined && isNamed(existing, username);
      if (!isKept && (await store.claim(usernameKeyOf(username), userId)) !== userId) {
        throw nameTaken();
      }
    },
    /**
     * An address that another user verified before stays with that user: this one cannot sign in
     * with it.
     */
    async claimEmail({ userId, email = '', emailVerified }: User): Promise<void> {
      if (!emailVerified) {
        return;
      }
      const key = emailKeyOf(email);
      const holder = await store.claim(key, userId);
      const other = holder === userId ? undefined : await users.readStored(holder);
      if (holder !== userId && !(other && hasVerified(other, email))) {
        await store.replace(key, holder, userId);
      }
    },
    /** Gives up the name and address that the user no longer has. */
    async release(user: User, former: User = user): Promise<void> {
      const kept = [
        usernameKeyOf(user.username),
        user.emailVerified && emailKeyOf(user.email ?? ''),
      ];
      const isChanged = !(isNamed(user, former.username) && user.email === former.email);
      const keys = isChanged ? await keysOf(former) : [];
      await store.delete(keys.filter((key) => !kept.includes(key)));
    },
  };
}

function hasVerified(user: User, email: string): boolean {
  return user.emailVerified && canonicalEmail(user.email ?? '') === canonicalEmail(email);
}
