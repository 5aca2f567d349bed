/**
 * Guessing passwords, made slow. Every form that takes a password signs in through here: the sign-in page, the
 * password grant, and what comes after them. The flow of one attempt:
 *
 *   count for address and client ─▶ over: 429      (says nothing about the account)
 *   count for the account        ─▶ over: refused by a timer that takes as long as a hash
 *   verify the password          ─▶ wrong, unknown, disabled, not allowed here: refused
 *   success, or not evaluated    ─▶ the account's and the client's count get this attempt back
 *
 * Counting comes first and is atomic in the store, so that of 100 guesses at once no more than the limit is
 * evaluated, on however many processes. Deliberately not here: anything that lasts longer than its window, and
 * anything that ends sessions or tokens: locking somebody else out is an attack, too.
 */
import {
  type CredentialHash,
  canonicalUsername,
  MAXIMUM_PASSWORD_BYTES,
  type User,
  type UserRegistry,
} from '@gatehouse/identity';
import type { Store } from '@gatehouse/store';
import { accountLimit, addressLimit, clientLimit, type Limit } from './limits.ts';
import { TooManyAttempts } from './too-many-attempts.ts';

export interface SignInAttempt {
  readonly username: string;
  readonly password: string;
  /** From `clientAddress`. */
  readonly address: string;
  /** The application the person signs in for, where there is one. */
  readonly clientId?: string | undefined;
}

/**
 * The user who signed in, or undefined: one answer for unknown, wrong, locked, disabled and not allowed here, and
 * one timing.
 *
 * @throws TooManyAttempts when the address or the client tries too often
 * @throws PasswordHashingBusy when too many sign in at this moment
 */
export type SignIn = (attempt: SignInAttempt) => Promise<User | undefined>;

export interface SignInDependencies {
  readonly store: Store;
  readonly users: UserRegistry;
  readonly credentialHash: CredentialHash;
  /** Whether this client signs in users of this organisation. */
  readonly isAllowed: (user: User, clientId: string) => Promise<boolean>;
  readonly now?: () => number;
}

export function createSignIn(dependencies: SignInDependencies): SignIn {
  const { store, users, credentialHash, isAllowed, now = Date.now } = dependencies;
  // People type passwords into the wrong field: a username is no text for a key.
  const accountKey = (name: string) =>
    `sign-ins:account:${credentialHash(canonicalUsername(name))}`;

  async function count(key: string, limit: Limit): Promise<void> {
    const { count: attempts, resetsAt } = await store.increment(key, limit.windowSeconds);
    if (attempts > limit.attempts) {
      throw new TooManyAttempts(resetsAt, now());
    }
  }

  async function verify({ username, password, clientId }: SignInAttempt) {
    const user = await users.verify(username, password);
    const allowed =
      user !== undefined && (clientId === undefined || (await isAllowed(user, clientId)));
    return allowed ? user : undefined;
  }

  return async (attempt) => {
    const { username, password, address, clientId } = attempt;
    if (Buffer.byteLength(password) > MAXIMUM_PASSWORD_BYTES) {
      return undefined;
    }
    await count(`sign-ins:address:${address}`, addressLimit);
    const returned = [accountKey(username)];
    if (clientId !== undefined) {
      await count(`sign-ins:client:${clientId}`, clientLimit);
      returned.push(`sign-ins:client:${clientId}`);
    }
    const counter = await store.increment(accountKey(username), accountLimit.windowSeconds);
    let evaluatedAndFailed = false;
    try {
      if (counter.count > accountLimit.attempts) {
        await users.refuse(username);
        return undefined;
      }
      const user = await verify(attempt);
      evaluatedAndFailed = user === undefined;
      return user;
    } finally {
      if (!evaluatedAndFailed) {
        await Promise.all(returned.map((key) => store.decrement(key)));
      }
    }
  };
}
