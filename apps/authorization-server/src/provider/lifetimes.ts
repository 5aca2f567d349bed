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

/** A token in the front channel is easier to lose, so it lives less long (RFC 9700 §2.1.2). */
const IMPLICIT_ACCESS_TOKEN = 10 * MINUTE;

/** Called by the library as `ttl.AccessToken`. */
export function accessTokenLifetime(_context: unknown, token: { readonly gty?: string }): number {
  return token.gty === 'implicit' ? IMPLICIT_ACCESS_TOKEN : lifetimes.AccessToken;
}
