import {
  hashPassword,
  type Identity,
  type PasswordProblem as PolicyProblem,
  passwordProblem,
  type User,
} from '@gatehouse/identity';
import type { SignIn, SignInAttempt } from '../throttle/sign-in-throttle.ts';
import type { EndEverything } from './end-everything.ts';

export interface PasswordChange {
  readonly current: string;
  readonly wanted: string;
  readonly repeated: string;
}

/** The page text of each problem. */
const textOf = {
  short: 'passwordShort',
  long: 'passwordLong',
  username: 'passwordIsUsername',
  product: 'passwordIsProduct',
  common: 'passwordCommon',
  pattern: 'passwordPattern',
} as const satisfies Record<PolicyProblem, string>;

export type PasswordProblem =
  | (typeof textOf)[PolicyProblem]
  | 'passwordWrong'
  | 'passwordSame'
  | 'passwordDiffers';

export type PasswordOutcome =
  | { readonly kind: 'changed'; readonly user: User }
  | { readonly kind: 'rejected'; readonly problem: PasswordProblem };

/**
 * Changes the password of a user who knows the current one, and ends everything that was issued
 * before. Guesses of the current password count as sign-in attempts, so an open session gives an
 * attacker no additional ones (PW-06).
 *
 * @throws TooManyAttemptsError, PasswordHashingBusyError as a sign-in does
 */
export function createChangePassword(
  signIn: SignIn,
  endEverything: EndEverything,
  { signInLocks }: Pick<Identity, 'signInLocks'>,
) {
  return async (
    user: User,
    change: PasswordChange,
    origin: Pick<SignInAttempt, 'address' | 'device' | 'request'>,
  ): Promise<PasswordOutcome> => {
    const problem = problemOf(user, change);
    if (problem !== undefined) {
      return { kind: 'rejected', problem };
    }
    const { username } = user;
    const attempt = { method: 'account_page', username, password: change.current } as const;
    const verified = await signIn({ ...attempt, ...origin });
    if (verified?.userId !== user.userId) {
      return { kind: 'rejected', problem: 'passwordWrong' };
    }
    if (change.current === change.wanted) {
      return { kind: 'rejected', problem: 'passwordSame' };
    }
    const passwordHash = await hashPassword(change.wanted);
    const changed = await endEverything(user.userId, { passwordHash });
    await signInLocks.unlock(user);
    return { kind: 'changed', user: changed };
  };
}

function problemOf(user: User, { wanted, repeated }: PasswordChange): PasswordProblem | undefined {
  if (wanted !== repeated) {
    return 'passwordDiffers';
  }
  const problem = passwordProblem(wanted, user);
  return problem === undefined ? undefined : textOf[problem];
}
