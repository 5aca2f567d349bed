/**
 * Slows down sign-ins with passkeys, as sign-in-throttle.ts does for passwords. Nobody can guess a
 * passkey, so the limits bound the work:
 *
 *   unknown device: count for the address    ─▶ over: 429; no such passkey: rejected
 *   count for the account, or for a known device, apart from passwords ─▶ over: rejected
 *   known device: count for the user in place of the address           ─▶ over: 429
 *   verify, and record the use               ─▶ unknown, wrong, copied: rejected
 *   success, or not evaluated                ─▶ the account or the device gets this attempt back
 *
 * Wrong passwords do not lock out a user with a passkey, and the reverse.
 */
import type { SignInReasonName } from '@gatehouse/errors';
import { accountLimit, type Identity, type Passkey, type User } from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import { requestOrigin } from '../requests/caller.ts';
import { type Attempt, countOrigin } from './sign-in-throttle.ts';

interface PasskeyAttempt extends Attempt {
  /** What the browser names. Undefined: nothing. */
  readonly userId: string | undefined;
  readonly passkeyId: string;
  /** What the verified assertion reports. Undefined if it is wrong. */
  readonly verify: (
    passkey: Passkey,
  ) => Promise<Pick<Passkey, 'counter' | 'isBackedUp'> | undefined>;
}

/**
 * The user and the passkey, or undefined. Every failure has the same result.
 *
 * @throws TryLaterError when the address, or a user with a known device, tries too often
 */
export type CheckPasskey = (
  attempt: PasskeyAttempt,
) => Promise<{ readonly user: User; readonly passkey: Passkey } | undefined>;

export function createCheckPasskey(
  identity: Identity,
  /** Why a user with this passkey may not sign in here. */
  rejectionOf: (
    user: User,
    attempt: Pick<Attempt, 'method' | 'clientId'>,
    identity: Identity,
  ) => Promise<SignInReasonName | undefined>,
): CheckPasskey {
  const { store, users, passkeys, signInLocks: locks, audit } = identity;

  function noteFailure(attempt: PasskeyAttempt, reason: SignInReasonName, user?: User): undefined {
    const { method, clientId, request } = attempt;
    observedRequest(request).notes.reason = reason;
    const event = { event: 'sign_in_failed', method, reason, clientId } as const;
    audit.record({ ...event, userId: user?.userId }, requestOrigin(request));
  }

  async function evaluate(
    attempt: PasskeyAttempt,
    user: User,
    passkey: Passkey,
  ): Promise<SignInReasonName | undefined> {
    const use = await attempt.verify(passkey);
    if (use === undefined) {
      return 'passkey_wrong';
    }
    const rejection = user.enabled
      ? await rejectionOf(user, attempt, identity)
      : 'account_disabled';
    if (rejection !== undefined) {
      return rejection;
    }
    const problem = await passkeys.recordUse(user.userId, passkey.id, use);
    if (problem === 'copied') {
      const { clientId, request } = attempt;
      const event = { event: 'passkey_copied', userId: user.userId, clientId } as const;
      audit.record(event, requestOrigin(request));
      return 'passkey_copied';
    }
    return problem === undefined ? undefined : 'passkey_unknown';
  }

  return async (attempt) => {
    const { userId = '', passkeyId, request } = attempt;
    const user = await users.find(userId);
    const device = attempt.device?.userId === user?.userId ? attempt.device : undefined;
    const count = () =>
      countOrigin({ device, request }, store, (reason) => noteFailure(attempt, reason, user));
    if (device === undefined) {
      await count();
    }
    const found = user && (await passkeys.list(user.userId));
    const passkey = found?.find(({ id }) => id === passkeyId);
    if (user === undefined || (device === undefined && passkey === undefined)) {
      return noteFailure(attempt, 'passkey_unknown', user);
    }
    const key = locks.passkeysKey(
      device ? locks.browserKey(device.deviceId) : locks.accountKey(user.username),
    );
    const attempts = await store.increment(key, accountLimit.windowSeconds);
    let isWrong = false;
    try {
      if (attempts.count > accountLimit.attempts) {
        return noteFailure(attempt, 'account_locked', user);
      }
      // After its own count, so that the holder of a stolen cookie cannot use up the user's.
      if (device !== undefined) {
        await count();
      }
      const reason = passkey ? await evaluate(attempt, user, passkey) : 'passkey_unknown';
      if (passkey && reason === undefined) {
        return { user, passkey };
      }
      isWrong = true;
      return noteFailure(attempt, reason ?? 'passkey_unknown', user);
    } finally {
      if (!isWrong) {
        await store.decrement(key);
      }
    }
  };
}
