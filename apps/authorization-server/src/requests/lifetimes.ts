import { GRANT_LIFETIME_SECONDS } from '@gatehouse/identity';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * How long the records of a request are valid, in seconds. A Grant outlives its refresh tokens.
 * Otherwise a refresh would fail early.
 */
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

/**
 * An expired code is kept this long, so that device and user are told that it expired (RFC 8628
 * §3.5).
 */
export const EXPIRED_DEVICE_CODE_SECONDS = 10 * MINUTE;
