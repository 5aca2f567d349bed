import type { Identity, User } from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import type { Session } from 'oidc-provider';
import { lifetimes } from '../requests/lifetimes.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;

/** Before the sign-in: long enough to find a password, short for a page that is left open. */
const ANONYMOUS_INTERACTION = 30 * MINUTE;

/** A session without a user holds only the token of one form, and is kept in the browser. */
const ANONYMOUS_SESSION = HOUR;

/** A token in the front channel leaks more easily, so it expires earlier (RFC 9700 §2.1.2). */
const IMPLICIT_ACCESS_TOKEN = 10 * MINUTE;

/** Correct clients redeem a code within a second. The specification allows ten minutes. */
const STRICT_AUTHORIZATION_CODE = MINUTE;

export function sessionLifetime(_context: unknown, session: Pick<Session, 'accountId'>): number {
  return session.accountId === undefined ? ANONYMOUS_SESSION : lifetimes.Session;
}

/** Called by the library as `ttl`. */
export function timesToLive(strict: boolean) {
  return {
    ...lifetimes,
    AccessToken: (_context: unknown, token: { readonly gty?: string }) =>
      token.gty === 'implicit' ? IMPLICIT_ACCESS_TOKEN : lifetimes.AccessToken,
    /** A successor expires when the first token of its family would. */
    RefreshToken(_context: unknown, token: { readonly iiat?: number | undefined }) {
      const now = Math.floor(Date.now() / 1000);
      return Math.max(1, (token.iiat ?? now) + lifetimes.RefreshToken - now);
    },
    Session: sessionLifetime,
    Interaction: (
      _context: unknown,
      { session }: { readonly session?: Partial<Pick<Session, 'accountId'>> | undefined },
    ) => (session?.accountId === undefined ? ANONYMOUS_INTERACTION : lifetimes.Interaction),
    ...(strict ? { AuthorizationCode: STRICT_AUTHORIZATION_CODE } : {}),
  };
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

/** No request that could write an ended session back takes longer than this. */
const ENDED_SESSION_SECONDS = HOUR;

/**
 * A sign-out ends the grants of the session first (docs/decisions/15-sign-out.md); the library
 * revokes none. An adapter cannot do it, because the library also destroys a record to rename a
 * session. The library throws when an error page touches a session that was never stored.
 */
export function endSessionsWithGrants(
  provider: Provider,
  { store, credentialHash }: Identity,
): void {
  const session = provider.Session.prototype;
  const { destroy, persist } = session;
  session.destroy = async function destroyWithGrants() {
    // An anonymous session is not in the store. A record of its end would let any caller fill the
    // store.
    if (this.accountId !== undefined) {
      const key = endedSessionKey(credentialHash(this.uid));
      await store.set(key, '', ENDED_SESSION_SECONDS, { revokes: true });
    }
    for (const { grantId } of Object.values(this.authorizations ?? {})) {
      const grant = grantId === undefined ? undefined : await provider.Grant.find(grantId);
      await grant?.destroy();
    }
    await destroy.call(this);
  };
  session.persist = async function persistIfStored() {
    return typeof this.exp === 'number' ? persist.call(this) : this.jti;
  };
}
