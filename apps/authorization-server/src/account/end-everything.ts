import { setTimeout as sleep } from 'node:timers/promises';
import { type Identity, nextNotBefore, type User } from '@gatehouse/identity';
import type { GrantedApplications } from './applications.ts';

export type EndEverything = (
  userId: string,
  changes?: Partial<Pick<User, 'passwordHash'>>,
) => Promise<User>;

/**
 * Ends everything that was issued to a user: the not-before ends tokens and sessions at once on
 * every server, then the grants end one by one, with their refresh tokens and codes.
 */
export function createEndEverything(
  { users }: Identity,
  applications: GrantedApplications,
): EndEverything {
  return async (userId, changes = {}) => {
    const notBefore = nextNotBefore(Date.now());
    const user = await users.update(userId, (known) => ({ ...known, ...changes, notBefore }));
    await applications.revokeAll(userId);
    // Anything issued before that moment is invalid, so the reply waits: a sign-in right after it
    // must work.
    await sleep(Math.max(0, (notBefore + 1) * 1000 - Date.now()));
    return user;
  };
}
