import type { Store } from '@gatehouse/store';
import type { CredentialHash } from '../secrets/credential-keys.ts';
import { canonicalUsername, type User } from './user.ts';

/**
 * Wrong passwords for one account, or from one known browser. An attempt counts until it succeeds.
 */
export const accountLimit = { attempts: 10, windowSeconds: 15 * 60 } as const;

/** Wrong codes of a second factor for the same account or browser, in addition. */
export const codeLimit = { attempts: 30, windowSeconds: 24 * 60 * 60 } as const;

/** Why a user with the right password cannot sign in at the moment. */
export interface SignInLock {
  /** Browsers without an earlier sign-in, or one browser with its own count. */
  readonly kind: 'account' | 'browser';
  /** Epoch milliseconds. */
  readonly until: number;
}

type Account = Pick<User, 'userId' | 'username'>;

/** The counts of wrong passwords (docs/decisions/07-sign-in-throttle.md), and their removal. */
export function createSignInLocks(store: Store, credentialHash: CredentialHash) {
  // Users type passwords into the wrong field, so a username must not be readable in a key.
  const accountKey = (username: string) =>
    `sign-ins:account:${credentialHash(canonicalUsername(username))}`;
  const indexKey = (userId: string) => `locked-browsers:${userId}`;

  const codesKey = (key: string) => `${key}:codes`;

  async function lockOf(kind: SignInLock['kind'], key: string): Promise<readonly SignInLock[]> {
    const [attempts, codes] = await Promise.all([
      store.increment(key, accountLimit.windowSeconds, 0),
      store.increment(codesKey(key), codeLimit.windowSeconds, 0),
    ]);
    return [
      ...(attempts.count >= accountLimit.attempts ? [attempts] : []),
      ...(codes.count >= codeLimit.attempts ? [codes] : []),
    ].map(({ resetsAt: until }) => ({ kind, until }));
  }

  return {
    accountKey,
    /** The second count of an account or a browser: wrong codes. */
    codesKey,
    browserKey: (deviceId: string): string => `sign-ins:device:${credentialHash(deviceId)}`,
    /** Called with the failure that locks a browser, so that `unlock` finds its counts. */
    recordLockedBrowser: (userId: string, key: string): Promise<void> =>
      store.addToIndex(indexKey(userId), key, Date.now() + codeLimit.windowSeconds * 1000),
    async list({ userId, username }: Account): Promise<readonly SignInLock[]> {
      const browsers = await store.members(indexKey(userId));
      const locks = await Promise.all([
        lockOf('account', accountKey(username)),
        ...browsers.map((key) => lockOf('browser', key)),
      ]);
      return locks.flat();
    },
    /**
     * With a new password: forgets the wrong ones. Wrong codes of the day stay, so that a mailbox
     * gives no additional guesses of a second factor.
     */
    async forgetPasswords({ userId, username }: Account): Promise<void> {
      const browsers = await store.members(indexKey(userId));
      await store.delete([accountKey(username), ...browsers]);
    },
    /** Forgets the wrong passwords and codes of the account and of its locked browsers. */
    async unlock({ userId, username }: Account): Promise<void> {
      const browsers = await store.members(indexKey(userId));
      const keys = [accountKey(username), ...browsers];
      await store.delete([...keys, ...keys.map(codesKey), indexKey(userId)]);
    },
  };
}
