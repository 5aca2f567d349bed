import { setTimeout as sleep } from 'node:timers/promises';
import { type Identity, nextNotBefore, type User } from '@gatehouse/identity';
import type { GrantedApplications } from './applications.ts';

export type EndEverything = (
  userId: string,
  changes?: Partial<Pick<User, 'passwordHash'>>,
) => Promise<User>;

/**
 * Ends all that was issued to a user until now: tokens and sessions at once by the not-before, wherever one is checked;
 * then the grants, and with them refresh tokens and codes, one by one.
 */
export function createEndEverything(
  { users }: Identity,
  applications: GrantedApplications,
): EndEverything {
  return async (userId, changes = {}) => {
    const notBefore = nextNotBefore(Date.now());
    const user = await users.update(userId, (known) => ({ ...known, ...changes, notBefore }));
    await applications.revokeAll(userId);
    // What is issued until then is dead, too: who signs in right after the answer must not meet that.
    await sleep(Math.max(0, (notBefore + 1) * 1000 - Date.now()));
    return user;
  };
}
