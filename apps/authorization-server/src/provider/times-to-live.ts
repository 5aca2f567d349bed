import {
  endedSessionKey,
  endedSessionSeconds,
  findResource,
  grantSeconds,
  type Identity,
  type LifetimeSettings,
  type Lifetimes,
  lifetimesOf,
  type Settings,
  type User,
} from '@gatehouse/identity';
import type {
  Client,
  Grant,
  KoaContextWithOIDC,
  Provider,
  ResourceServerInstance,
  Session,
} from 'oidc-provider';
import { lifetimes } from '../requests/lifetimes.ts';
import { settingsOf } from './resources.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;

/** Before the sign-in: long enough to find a password, short for a page that is left open. */
const ANONYMOUS_INTERACTION = 30 * MINUTE;

/** A session without a user holds only the token of one form, and is kept in the browser. */
export const ANONYMOUS_SESSION = HOUR;

/** A token in the front channel leaks more easily, so it expires earlier (RFC 9700 §2.1.2). */
const IMPLICIT_ACCESS_TOKEN = 10 * MINUTE;

/** Services outside the gateway accept it until then, even after a revocation. */
const JWT_ACCESS_TOKEN = 24 * HOUR;

/** Correct clients redeem a code within a second. The specification allows ten minutes. */
const STRICT_AUTHORIZATION_CODE = MINUTE;

/** A session that ends with the browser does not need to be stored for long. */
const BROWSER_SESSION = 24 * HOUR;

/** What operators set for the client of a request, or for all of them. */
export function lifetimesFor(
  context: KoaContextWithOIDC,
  client?: Client,
  resource?: string,
): Lifetimes {
  const settings = settingsOf(context);
  const own = client?.lifetimes as LifetimeSettings | undefined;
  const ofResource = findResource(resource ?? '', settings)?.lifetimes;
  return lifetimesOf(settings.lifetimes, own, ofResource);
}

/** Each use extends the session of a user, up to its longest time since the sign-in. */
export function sessionLifetime(
  { lifetimes: installation }: Pick<Settings, 'lifetimes'>,
  { loginTs, transient }: Pick<Session, 'loginTs' | 'transient'>,
): number {
  const { session, sessionIdle } = lifetimesOf(installation);
  const now = Math.floor(Date.now() / 1000);
  const left = (loginTs ?? now) + session - now;
  const idle = transient === true ? Math.min(sessionIdle, BROWSER_SESSION) : sessionIdle;
  return Math.max(1, Math.min(idle, left));
}

/** A new consent, which outlives its refresh tokens. */
export function createGrant(
  provider: Provider,
  owner: { readonly accountId: string | undefined; readonly clientId: string },
  lifetimes: Lifetimes,
): Grant {
  // The published types lack this member of every token.
  return Object.assign(new provider.Grant(owner), { expiresIn: grantSeconds(lifetimes) });
}

/** Called by the library as `ttl`. */
export function timesToLive(strict: boolean) {
  const accessToken = (
    context: KoaContextWithOIDC,
    token: { readonly gty?: string; readonly resourceServer?: ResourceServerInstance | undefined },
    client?: Client,
  ) => {
    const { resourceServer: resource } = token;
    const { accessToken: seconds } = lifetimesFor(context, client, resource?.identifier());
    // A sign-out and the account page end the tokens of a Grant only as long as it exists.
    const left = Math.max(1, context.oidc.entities.Grant?.remainingTTL ?? Infinity);
    const ofFormat = resource?.accessTokenFormat === 'jwt' ? JWT_ACCESS_TOKEN : Infinity;
    const ofGrant = token.gty === 'implicit' ? IMPLICIT_ACCESS_TOKEN : Infinity;
    return Math.min(seconds, ofFormat, ofGrant, left);
  };
  const set =
    (name: keyof Lifetimes) => (context: KoaContextWithOIDC, _token: unknown, client?: Client) =>
      lifetimesFor(context, client)[name];
  return {
    ...lifetimes,
    AccessToken: accessToken,
    ClientCredentials: accessToken,
    /** A successor expires when the first token of its family would, or if it is not used. */
    RefreshToken(
      context: KoaContextWithOIDC,
      token: { readonly iiat?: number | undefined },
      client?: Client,
    ): number {
      const { refreshToken, refreshTokenIdle } = lifetimesFor(context, client);
      const now = Math.floor(Date.now() / 1000);
      const left = (token.iiat ?? now) + refreshToken - now;
      return Math.max(1, Math.min(left, refreshTokenIdle));
    },
    AuthorizationCode: (context: KoaContextWithOIDC, _code: unknown, client?: Client) =>
      Math.min(lifetimesFor(context, client).code, strict ? STRICT_AUTHORIZATION_CODE : Infinity),
    IdToken: set('idToken'),
    DeviceCode: set('deviceCode'),
    Session: (context: KoaContextWithOIDC, session: Session) =>
      session.accountId === undefined
        ? ANONYMOUS_SESSION
        : sessionLifetime(settingsOf(context), session),
    Interaction: (
      _context: unknown,
      { session }: { readonly session?: Partial<Pick<Session, 'accountId'>> | undefined },
    ) => (session?.accountId === undefined ? ANONYMOUS_INTERACTION : lifetimes.Interaction),
  };
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
      await store.set(key, '', endedSessionSeconds, { revokes: true });
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
