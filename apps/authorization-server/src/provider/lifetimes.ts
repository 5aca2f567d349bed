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
  Grant: 60 * DAY,
} as const;
