import {
  canonicalUsername,
  hashPassword,
  type Identity,
  isAcceptablePassword,
  MAXIMUM_PASSWORD_BYTES,
  type User,
} from '@gatehouse/identity';
import { createAttemptLimit, type Wait } from '../http/attempt-limit.ts';
import type { EndEverything } from './end-everything.ts';

export interface PasswordChange {
  readonly current: string;
  readonly wanted: string;
  readonly repeated: string;
}

export type PasswordProblem =
  | 'passwordWrong'
  | 'passwordShort'
  | 'passwordLong'
  | 'passwordIsUsername'
  | 'passwordSame'
  | 'passwordDiffers';

export type PasswordOutcome =
  | { readonly kind: 'changed'; readonly user: User }
  | { readonly kind: 'refused'; readonly problem: PasswordProblem }
  | { readonly kind: 'wait'; readonly seconds: NonNullable<Wait> };

/** Whoever sits at an open session must not try passwords without end (OWASP ASVS 6.3.1). */
const limits = { name: 'password-change', attempts: 5, windowSeconds: 900 } as const;

/** Changes a password for who knows the current one. All that was issued until now ends with the old one. */
export function createChangePassword(identity: Identity, endEverything: EndEverything) {
  const limit = createAttemptLimit(identity.store, limits);
  return async (user: User, change: PasswordChange): Promise<PasswordOutcome> => {
    const problem = problemOf(user, change);
    if (problem !== undefined) {
      return { kind: 'refused', problem };
    }
    const seconds = await limit.take(user.userId);
    if (seconds !== undefined) {
      return { kind: 'wait', seconds };
    }
    const verified = await identity.users.verify(user.username, change.current);
    if (verified?.userId !== user.userId) {
      return { kind: 'refused', problem: 'passwordWrong' };
    }
    await limit.giveBack(user.userId);
    if (change.current === change.wanted) {
      return { kind: 'refused', problem: 'passwordSame' };
    }
    const passwordHash = await hashPassword(change.wanted);
    const changed = await endEverything(user.userId, { passwordHash });
    return { kind: 'changed', user: changed };
  };
}

function problemOf(user: User, { wanted, repeated }: PasswordChange): PasswordProblem | undefined {
  if (wanted !== repeated) {
    return 'passwordDiffers';
  }
  if (Buffer.byteLength(wanted) > MAXIMUM_PASSWORD_BYTES) {
    return 'passwordLong';
  }
  if (!isAcceptablePassword(wanted)) {
    return 'passwordShort';
  }
  return canonicalUsername(wanted) === canonicalUsername(user.username)
    ? 'passwordIsUsername'
    : undefined;
}
