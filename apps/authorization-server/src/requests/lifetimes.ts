const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * How long the records of a request are usually valid, in seconds. The limits of stored data count
 * in these windows. Operators can set other lifetimes of credentials (provider/times-to-live.ts).
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
  Grant: 60 * DAY,
} as const;

/**
 * An expired code is kept this long, so that device and user are told that it expired (RFC 8628
 * §3.5).
 */
export const EXPIRED_DEVICE_CODE_SECONDS = 10 * MINUTE;

/** How long an expired token for the API of the console can still be told from an unknown one. */
export const EXPIRED_TOKEN_SECONDS = 60 * 60;
