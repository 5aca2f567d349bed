import { GRANT_LIFETIME_SECONDS } from '@gatehouse/identity';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Seconds. A Grant outlives every refresh token it gave, or a refresh would fail before its time. */
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

/** Before anybody has signed in: long enough to type a password, short for a page that is left open. */
const ANONYMOUS_INTERACTION = 10 * MINUTE;

/** Called by the library as `ttl.Interaction`. */
export function interactionLifetime(
  _context: unknown,
  interaction: { readonly session?: { readonly accountId?: string } | undefined },
): number {
  return interaction.session?.accountId === undefined
    ? ANONYMOUS_INTERACTION
    : lifetimes.Interaction;
}

/** Called by the library as `ttl.RefreshToken`: a successor ends when the first of its family would have. */
function refreshTokenLifetime(
  _context: unknown,
  token: { readonly iiat?: number | undefined },
): number {
  const now = Math.floor(Date.now() / 1000);
  return Math.max(1, (token.iiat ?? now) + lifetimes.RefreshToken - now);
}

/** A token in the front channel is easier to lose, so it lives less long (RFC 9700 §2.1.2). */
const IMPLICIT_ACCESS_TOKEN = 10 * MINUTE;

function accessTokenLifetime(_context: unknown, token: { readonly gty?: string }): number {
  return token.gty === 'implicit' ? IMPLICIT_ACCESS_TOKEN : lifetimes.AccessToken;
}

/** A code is redeemed within a second by every client that is well; the specification's ten minutes are the outer bound. */
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
