import { GRANT_LIFETIME_SECONDS, type Identity, type User } from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import type { Session } from 'oidc-provider';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Seconds. A Grant outlives its refresh tokens. Otherwise a refresh would fail early. */
export const lifetimes = {
  AccessToken: 2 * HOUR,
  ClientCredentials: 2 * HOUR,
  AuthorizationCode: 10 * MINUTE,
  RefreshToken: 30 * DAY,
  DeviceCode: 10 * MINUTE,
  PushedAuthorizationRequest: MINUTE,
  IdToken: HOUR,
  Interaction: HOUR,
  Session: 14 * DAY,
  Grant: GRANT_LIFETIME_SECONDS,
} as const;

/** Before the sign-in: long enough to find a password, short for a page that is left open. */
const ANONYMOUS_INTERACTION = 30 * MINUTE;

/** Called by the library as `ttl.Interaction`. */
export function interactionLifetime(
  _context: unknown,
  interaction: { readonly session?: { readonly accountId?: string } | undefined },
): number {
  return interaction.session?.accountId === undefined
    ? ANONYMOUS_INTERACTION
    : lifetimes.Interaction;
}

/**
 * Called by the library as `ttl.RefreshToken`: a successor expires when the first token of its
 * family would.
 */
function refreshTokenLifetime(
  _context: unknown,
  token: { readonly iiat?: number | undefined },
): number {
  const now = Math.floor(Date.now() / 1000);
  return Math.max(1, (token.iiat ?? now) + lifetimes.RefreshToken - now);
}

/** A token in the front channel leaks more easily, so it expires earlier (RFC 9700 §2.1.2). */
const IMPLICIT_ACCESS_TOKEN = 10 * MINUTE;

function accessTokenLifetime(_context: unknown, token: { readonly gty?: string }): number {
  return token.gty === 'implicit' ? IMPLICIT_ACCESS_TOKEN : lifetimes.AccessToken;
}

/** Correct clients redeem a code within a second. The specification allows ten minutes. */
const STRICT_AUTHORIZATION_CODE = MINUTE;

/** Called by the library as `ttl`. */
export function timesToLive(strict: boolean) {
  return {
    ...lifetimes,
    AccessToken: accessTokenLifetime,
    RefreshToken: refreshTokenLifetime,
    ...(strict ? { AuthorizationCode: STRICT_AUTHORIZATION_CODE } : {}),
  };
}

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

/**
 * A request that runs while the session ends must not write it back. No request takes longer than
 * this.
 */
const ENDED_SESSION_SECONDS = 60 * 60;

export function endSessionsWithGrants(
  provider: Provider,
  { identity: { store, credentialHash } }: { readonly identity: Identity },
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
