/**
 * Slows down password guessing. Everything that takes a password signs in through this file: the
 * sign-in page, the password grant, and the account page when it asks for the current password. The
 * flow of one attempt:
 *
 *   unknown device: count for the address             ─▶ over: 429
 *   count for the account, or for a known device of that account (device-cookie.ts)
 *                                ─▶ over: rejected by a timer that takes as long as a hash
 *   known device: count for the user in place of the address ─▶ over: 429
 *   verify the password          ─▶ wrong, unknown, disabled, not allowed here: rejected
 *   success, or not evaluated    ─▶ the account or the device gets this attempt back
 *
 * On pages, further steps can follow (code-attempts.ts has the codes of second factors).
 *
 * Counting comes first and is atomic in the store. Of 100 concurrent guesses, no more than the
 * limit are evaluated, on any number of processes. Nothing here lasts longer than its window or
 * ends sessions or tokens, because locking out another user is an attack as well. For the same
 * reason, no limit is shared by all users of a client. The queue of password hashes bounds the
 * processor time of a flood from many addresses.
 */
import type { IncomingMessage } from 'node:http';
import type { SignInReasonName } from '@gatehouse/errors';
import {
  accountLimit,
  type Identity,
  MAXIMUM_PASSWORD_BYTES,
  type SignInMethod,
  type User,
} from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import { addressGroupOf, requestOrigin } from '../requests/caller.ts';
import { TryLaterError } from '../requests/failures.ts';
import { addressLimit } from './limits.ts';

/** A browser in which this user has signed in before. */
export interface KnownDevice {
  readonly userId: string;
  /**
   * Random and new at every sign-in, so a copied cookie stops sharing its counter at the next
   * sign-in.
   */
  readonly deviceId: string;
}

/** Of every kind: with a password, a code or a passkey. */
export interface Attempt {
  readonly method: SignInMethod;
  readonly request: IncomingMessage;
  /** The client that the user signs in to. */
  readonly clientId?: string;
  /** The device that the request's cookie names. */
  readonly device?: KnownDevice | undefined;
}

export interface SignInAttempt extends Attempt {
  /**
   * As typed. It is looked up but never stored, because it may be a password in the wrong field.
   */
  readonly username: string;
  readonly password: string;
}

/**
 * The user who signed in, or undefined. Unknown, wrong, locked, disabled and not allowed have the
 * same result and the same timing.
 *
 * @throws TryLaterError when the address, or a user with a known device, tries too often
 * @throws PasswordHashingBusyError when too many users sign in at the same moment
 */
export type SignIn = (attempt: SignInAttempt) => Promise<User | undefined>;

export function createSignIn(
  dependencies: Pick<Identity, 'store' | 'users' | 'signInLocks'> & {
    /** Why a user with the right password may not sign in here. */
    readonly rejectionOf: (
      user: User,
      attempt: Pick<SignInAttempt, 'method' | 'clientId'>,
    ) => Promise<SignInReasonName | undefined>;
    readonly observer: SignInAudit;
  },
): SignIn {
  const { store, users, signInLocks: locks, rejectionOf, observer } = dependencies;

  const countAttempt = (attempt: SignInAttempt) =>
    countOrigin(attempt, store, (reason) => observer.failed(attempt, reason));

  async function evaluate(attempt: SignInAttempt): Promise<User | undefined> {
    const { username, password } = attempt;
    const user = await users.verify(username, password, (reason) =>
      observer.failed(attempt, reason),
    );
    const rejection = user && (await rejectionOf(user, attempt));
    if (rejection !== undefined) {
      observer.failed(attempt, rejection);
      return undefined;
    }
    return user;
  }

  return async (presented) => {
    if (Buffer.byteLength(presented.password) > MAXIMUM_PASSWORD_BYTES) {
      observer.failed(presented, 'password_wrong');
      return undefined;
    }
    const attempt = await resolve(presented, users);
    if (attempt.device === undefined) {
      await countAttempt(attempt);
    }
    // Guesses from other devices do not count for a known device, nor its guesses for them.
    const key = attempt.device
      ? locks.browserKey(attempt.device.deviceId)
      : locks.accountKey(attempt.username);
    const { count } = await store.increment(key, accountLimit.windowSeconds);
    let isGuess = false;
    try {
      if (count > accountLimit.attempts) {
        observer.failed(attempt, 'account_locked');
        await users.reject(attempt.username);
        return undefined;
      }
      // After its own count, so that the holder of a stolen cookie cannot use up the user's.
      if (attempt.device !== undefined) {
        await countAttempt(attempt);
      }
      const user = await evaluate(attempt);
      isGuess = user === undefined;
      if (isGuess && count === accountLimit.attempts) {
        observer.locked(attempt);
        if (attempt.device !== undefined) {
          await locks.recordLockedBrowser(attempt.device.userId, key);
        }
      }
      if (user !== undefined) {
        observer.succeeded(attempt, user.userId);
      }
      return user;
    } finally {
      if (!isGuess) {
        await store.decrement(key);
      }
    }
  };
}

/**
 * Other callers behind the same address must not lock out a known device, so it counts for its user.
 *
 * @param onOver is called before it throws
 * @throws TryLaterError
 */
export async function countOrigin(
  { device, request }: Pick<SignInAttempt, 'device' | 'request'>,
  store: Identity['store'],
  onOver: (reason: SignInReasonName) => void,
): Promise<void> {
  const reason = device ? 'sign_in_user_limit' : 'sign_in_address_limit';
  const party = device ? `user:${device.userId}` : `address:${addressGroupOf(request)}`;
  const { count, resetsAt } = await store.increment(
    `sign-ins:${party}`,
    addressLimit.windowSeconds,
  );
  if (count > addressLimit.attempts) {
    onOver(reason);
    throw new TryLaterError(reason, resetsAt);
  }
}

/**
 * An address counts as the username of its user, so that it gives no additional guesses. A device of
 * another user counts as unknown.
 */
async function resolve(
  attempt: SignInAttempt,
  users: Pick<Identity['users'], 'findByLogin'>,
): Promise<SignInAttempt> {
  const user = await users.findByLogin(attempt.username);
  const { username } = user ?? attempt;
  const device = user?.userId === attempt.device?.userId ? attempt.device : undefined;
  return { ...attempt, username, device };
}

type SignInAudit = ReturnType<typeof createSignInAudit>;

/**
 * For the sign-in page, the password grant and their throttle. Each call adds one entry. A reason
 * of a failure is also in the log line. No reply contains it.
 */
export function createSignInAudit({ audit, users }: Pick<Identity, 'audit' | 'users'>) {
  /**
   * The reply does not wait for this lookup, so its timing does not reveal whether the user exists.
   */
  function withUser(username: string, then: (userId: string | undefined) => void): Promise<void> {
    return users.findByUsername(username).then(
      (user) => then(user?.userId),
      () => then(undefined),
    );
  }

  return {
    /** On a sign-in page, the last step records it. */
    succeeded({ method, clientId, request }: SignInAttempt, userId: string): void {
      if (method === 'page' || method === 'device_code') {
        return;
      }
      const event = { event: 'sign_in_succeeded', method, clientId, userId } as const;
      audit.record(event, requestOrigin(request));
    },
    failed(attempt: SignInAttempt, reason: SignInReasonName): void {
      const { method, username, clientId, request } = attempt;
      const origin = requestOrigin(request);
      const observed = observedRequest(request);
      observed.notes.reason = reason;
      observed.completing = withUser(username, (userId) => {
        observed.notes.userId = userId;
        audit.record({ event: 'sign_in_failed', method, reason, clientId, userId }, origin);
      });
    },
    /**
     * Called with the failure that locks the account or the known device. Later attempts are
     * failures with the reason `account_locked`.
     */
    locked(attempt: SignInAttempt): void {
      const { username, clientId, request } = attempt;
      const origin = requestOrigin(request);
      void withUser(username, (userId) => {
        audit.record({ event: 'account_locked', clientId, userId }, origin);
      });
    },
  };
}
