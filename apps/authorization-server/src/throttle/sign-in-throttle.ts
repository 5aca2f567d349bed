/**
 * Slows down password guessing. Everything that takes a password signs in through this file: the
 * sign-in page, the password grant, and the account page when it asks for the current password. The
 * flow of one attempt:
 *
 *   count for the address, and for the client unless the device is known ─▶ over: 429
 *   count for the account, or for a known device of that account (sign-in/device-cookie.ts)
 *                                ─▶ over: rejected by a timer that takes as long as a hash
 *   verify the password          ─▶ wrong, unknown, disabled, not allowed here: rejected
 *   success, or not evaluated    ─▶ the account's and the client's count get this attempt back
 *
 * Counting comes first and is atomic in the store. Of 100 concurrent guesses, no more than the
 * limit are evaluated, on any number of processes. Nothing here lasts longer than its window or
 * ends sessions or tokens, because locking out another user is an attack as well.
 */
import type { IncomingMessage } from 'node:http';
import type { SignInReasonName } from '@gatehouse/failure-reasons';
import {
  type CredentialHash,
  createSignInLocks,
  MAXIMUM_PASSWORD_BYTES,
  type SignInMethod,
  type User,
  type UserRegistry,
} from '@gatehouse/identity';
import type { Store } from '@gatehouse/store';
import { accountLimit, addressLimit, clientLimit, type Limit } from './limits.ts';
import { TooManyAttemptsError } from './too-many-attempts-error.ts';

/** A browser in which this user has signed in before. */
export interface KnownDevice {
  readonly userId: string;
  /**
   * Random and new at every sign-in, so a copied cookie stops sharing its counter at the next
   * sign-in.
   */
  readonly deviceId: string;
}

export interface SignInAttempt {
  readonly method: SignInMethod;
  readonly username: string;
  readonly password: string;
  /** The address group, from `addressGroupOf`. */
  readonly address: string;
  /** The device that the request's cookie names. */
  readonly device?: KnownDevice | undefined;
  /** The client that the user signs in to. */
  readonly clientId?: string | undefined;
  /** For the observer only. */
  readonly request?: IncomingMessage;
}

/** Called once for each attempt, for the log and the audit trail. */
export interface SignInObserver {
  succeeded(attempt: SignInAttempt, userId: string): void;
  failed(attempt: SignInAttempt, reason: SignInReasonName): void;
  /** Called with the failure that locks the account or the known device, not with later ones. */
  locked(attempt: SignInAttempt): void;
}

/**
 * The user who signed in, or undefined. Unknown, wrong, locked, disabled and not allowed have the
 * same result and the same timing.
 *
 * @throws TooManyAttemptsError when the address or the client tries too often
 * @throws PasswordHashingBusyError when too many users sign in at the same moment
 */
export type SignIn = (attempt: SignInAttempt) => Promise<User | undefined>;

export interface SignInDependencies {
  readonly store: Store;
  readonly users: UserRegistry;
  readonly credentialHash: CredentialHash;
  /** Whether this client signs in users of this organization. */
  readonly isAllowed: (user: User, clientId: string) => Promise<boolean>;
  readonly observer?: SignInObserver;
  readonly now?: () => number;
}

export function createSignIn(dependencies: SignInDependencies): SignIn {
  const { store, users, credentialHash, isAllowed, observer, now = Date.now } = dependencies;
  const locks = createSignInLocks({ store, credentialHash });
  const clientKey = (clientId: string) => `sign-ins:client:${clientId}`;

  /** @throws TooManyAttemptsError */
  async function countOrigin(attempt: SignInAttempt): Promise<void> {
    const { address } = attempt;
    const clientId = limitedClient(attempt);
    const counts: (readonly [key: string, limit: Limit, reason: SignInReasonName])[] = [
      [`sign-ins:address:${address}`, addressLimit, 'sign_in_address_limit'],
    ];
    if (clientId !== undefined) {
      counts.push([clientKey(clientId), clientLimit, 'sign_in_client_limit']);
    }
    for (const [key, limit, reason] of counts) {
      const { count, resetsAt } = await store.increment(key, limit.windowSeconds);
      if (count > limit.attempts) {
        observer?.failed(attempt, reason);
        throw new TooManyAttemptsError(reason, resetsAt, now());
      }
    }
  }

  /**
   * Guesses from other devices do not count for a known device, and its guesses count only for
   * itself.
   */
  const partyKey = ({ username, device }: SignInAttempt) =>
    device === undefined ? locks.accountKey(username) : locks.browserKey(device.deviceId);

  async function giveBack(key: string, attempt: SignInAttempt): Promise<void> {
    const clientId = limitedClient(attempt);
    const keys = [key, ...(clientId === undefined ? [] : [clientKey(clientId)])];
    await Promise.all(keys.map((key) => store.decrement(key)));
  }

  async function evaluate(attempt: SignInAttempt): Promise<User | undefined> {
    const { username, password, clientId } = attempt;
    const user = await users.verify(username, password, (reason) =>
      observer?.failed(attempt, reason),
    );
    if (user !== undefined && clientId !== undefined && !(await isAllowed(user, clientId))) {
      observer?.failed(attempt, 'user_of_another_organization');
      return undefined;
    }
    return user;
  }

  return async (presented) => {
    if (Buffer.byteLength(presented.password) > MAXIMUM_PASSWORD_BYTES) {
      observer?.failed(presented, 'password_too_long');
      return undefined;
    }
    const attempt = await withKnownDevice(presented, users);
    await countOrigin(attempt);
    const key = partyKey(attempt);
    const { count } = await store.increment(key, accountLimit.windowSeconds);
    let isGuess = false;
    try {
      if (count > accountLimit.attempts) {
        observer?.failed(attempt, 'account_locked');
        await users.reject(attempt.username);
        return undefined;
      }
      const user = await evaluate(attempt);
      isGuess = user === undefined;
      if (isGuess && count === accountLimit.attempts) {
        observer?.locked(attempt);
        if (attempt.device !== undefined) {
          await locks.recordLockedBrowser(attempt.device.userId, key);
        }
      }
      if (user !== undefined) {
        observer?.succeeded(attempt, user.userId);
      }
      return user;
    } finally {
      if (!isGuess) {
        await giveBack(key, attempt);
      }
    }
  };
}

/** A device of another user counts as unknown. */
async function withKnownDevice(
  attempt: SignInAttempt,
  users: Pick<UserRegistry, 'findByUsername'>,
): Promise<SignInAttempt> {
  const { username, device } = attempt;
  if (device === undefined) {
    return attempt;
  }
  const user = await users.findByUsername(username);
  return user?.userId === device.userId ? attempt : { ...attempt, device: undefined };
}

/** Other callers must not lock out a known device through the limit of its client. */
function limitedClient({ device, clientId }: SignInAttempt): string | undefined {
  return device === undefined ? clientId : undefined;
}
