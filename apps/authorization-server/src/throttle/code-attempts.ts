/**
 * Slows down guessing of second factors, as sign-in-throttle.ts does for passwords. Wrong codes and
 * wrong passwords share one count: of the account, or of a known device of its user. Codes have a
 * second count of a day, because an attacker who knows the password has three chances in a million
 * with each code.
 */
import type { SignInReasonName } from '@gatehouse/errors';
import {
  accountLimit,
  codeLimit,
  type FactorKind,
  type Identity,
  type User,
} from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import { requestOrigin } from '../requests/caller.ts';
import type { Attempt } from './sign-in-throttle.ts';

/** What the code proved. Undefined: it is wrong or used, or there were too many wrong ones. */
export async function checkCode(
  { user, code, method, clientId, device, request }: Attempt & { user: User; code: string },
  { store, factors, signInLocks: locks, audit }: Identity,
): Promise<FactorKind | undefined> {
  const { userId } = user;
  const origin = requestOrigin(request);
  const noteFailure = (reason: SignInReasonName) => {
    Object.assign(observedRequest(request).notes, { reason, userId });
    audit.record({ event: 'sign_in_failed', method, reason, clientId, userId }, origin);
  };
  const isKnown = device?.userId === userId;
  const key = isKnown ? locks.browserKey(device.deviceId) : locks.accountKey(user.username);
  const codesKey = locks.codesKey(key);
  const attempts = await store.increment(key, accountLimit.windowSeconds);
  const codes = await store.increment(codesKey, codeLimit.windowSeconds);
  const left = Math.min(accountLimit.attempts - attempts.count, codeLimit.attempts - codes.count);
  let isGuess = false;
  try {
    if (left < 0) {
      noteFailure('account_locked');
      return undefined;
    }
    const kind = await factors.use(userId, code);
    isGuess = kind === undefined;
    if (isGuess) {
      noteFailure('second_factor_wrong');
    }
    if (isGuess && left === 0) {
      audit.record({ event: 'account_locked', clientId, userId }, origin);
      await (isKnown && locks.recordLockedBrowser(userId, key));
    }
    return kind;
  } finally {
    if (!isGuess) {
      await Promise.all([store.decrement(key), store.decrement(codesKey)]);
    }
  }
}
