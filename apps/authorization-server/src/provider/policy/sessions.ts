import type { User } from '@gatehouse/identity';
import type { Session } from 'oidc-provider';
import { lifetimes } from './lifetimes.ts';

/** A session without a user holds only the token of one form, and is kept in the browser. */
const ANONYMOUS_SECONDS = 60 * 60;

/** Called by the library as `ttl.Session`. */
export function sessionLifetime(_context: unknown, session: Pick<Session, 'accountId'>): number {
  return session.accountId === undefined ? ANONYMOUS_SECONDS : lifetimes.Session;
}

/** Set when a session ends: a concurrent request must not write the session back. */
export function endedSessionKey(hashedUid: string): string {
  return `session-ended:${hashedUid}`;
}

/**
 * Whether the session is still valid for this user: enabled, and not signed out everywhere since.
 */
export function isSessionOf(
  user: User | undefined,
  session: Pick<Session, 'accountId' | 'loginTs'>,
): user is User {
  return (
    user?.enabled === true &&
    user.userId === session.accountId &&
    (session.loginTs ?? 0) > user.notBefore
  );
}
