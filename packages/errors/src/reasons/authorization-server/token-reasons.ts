import type { FailureReason } from '../failure-reason.ts';

/**
 * Why a refresh token, a device code or an access token was rejected. Authenticated clients read
 * these texts in the reply of the token endpoint.
 */
export const tokenReasons = {
  refresh_token_unknown: {
    codes: ['invalid_grant'],
    stage: 'validate',
    cause:
      'The refresh token is unknown, has expired, or was deleted when its sign-in was revoked.',
    fix: 'Store the newest refresh token after each refresh. Otherwise start the sign-in again.',
    example: 'a refresh token after the user signed out',
  },
  refresh_token_expired: {
    codes: ['invalid_grant'],
    stage: 'validate',
    cause: 'The refresh token has expired.',
    fix: 'Start the sign-in again.',
    example: 'an application that was not used for a month',
  },
  refresh_token_used: {
    codes: ['invalid_grant'],
    stage: 'validate',
    cause: 'The refresh token was already used, so all tokens of its sign-in were revoked.',
    fix: 'Store the refresh token of each reply and use only the newest. Start the sign-in again.',
    example: 'two processes that share one refresh token',
  },
  refresh_token_of_another_client: {
    codes: ['invalid_grant'],
    stage: 'authorize',
    cause: 'The refresh token was issued to another client.',
    fix: 'Refresh with the client that received the token.',
    example: 'an application that changed its client id',
  },
  refresh_token_revoked: {
    codes: ['invalid_grant'],
    stage: 'authorize',
    cause:
      'The refresh token was revoked: by the user, by an operator, or with the secure key of the client.',
    fix: 'Start the sign-in again.',
    example: 'the user signed out everywhere',
  },
  refresh_token_lost_race: {
    codes: ['invalid_grant'],
    stage: 'validate',
    cause: 'Another request used the refresh token at the same moment.',
    fix: 'Refresh in one place. Other threads wait for its result.',
    example: 'two threads that refresh at once in the strict profile',
  },
  device_code_unknown: {
    codes: ['invalid_grant'],
    stage: 'validate',
    cause: 'The device code is unknown, or it expired more than ten minutes ago.',
    fix: 'Start again at the device authorization endpoint.',
    example: 'a device that polls with an old code',
  },
  device_code_used: {
    codes: ['invalid_grant'],
    stage: 'validate',
    cause: 'The device code was already used, so all tokens of its sign-in were revoked.',
    fix: 'Stop polling after the first success.',
    example: 'a device that polls again after it received its tokens',
  },
  device_code_of_another_client: {
    codes: ['invalid_grant'],
    stage: 'authorize',
    cause: 'The device code was issued to another client.',
    fix: 'Poll with the client_id of the device authorization request.',
    example: 'a firmware with two client ids',
  },
  device_code_expired: {
    codes: ['expired_token'],
    stage: 'validate',
    cause: 'The user did not allow the device within ten minutes.',
    fix: 'Start again at the device authorization endpoint.',
    example: 'a television that is switched off',
  },
  device_code_revoked: {
    codes: ['invalid_grant'],
    stage: 'authorize',
    cause: 'The device code was revoked with its user, its client or the secure key.',
    fix: 'Start again at the device authorization endpoint.',
    example: 'an operator disabled the user',
  },
  device_code_lost_race: {
    codes: ['invalid_grant'],
    stage: 'validate',
    cause: 'Another request redeemed or decided the device code at the same moment.',
    fix: 'Poll with one request at a time. Users: continue in one browser.',
    example: 'two browsers that confirm the same code',
  },
  device_code_pending: {
    codes: ['authorization_pending'],
    stage: 'validate',
    cause: 'The user has not allowed the device yet.',
    fix: 'Poll again after the interval of the first reply.',
    example: 'the normal reply while the user signs in',
  },
  device_code_polled_early: {
    codes: ['slow_down'],
    stage: 'limit',
    cause: 'The device polled before the interval ended.',
    fix: 'Wait five seconds longer between two requests.',
    example: 'a device that polls every second',
  },
  grant_revoked: {
    codes: ['invalid_grant'],
    stage: 'authorize',
    cause: 'The consent to which the code or token belongs was revoked or has expired.',
    fix: 'Start the sign-in again.',
    example: 'the user removed the application on the account page',
  },
  grant_user_ended: {
    codes: ['invalid_grant'],
    stage: 'authorize',
    cause: 'The user of the code or token was disabled or deleted, or signed out everywhere.',
    fix: 'Start the sign-in again with an active user.',
    example: 'an operator disabled the user',
  },
  grant_rejected: {
    codes: ['invalid_grant', 'access_denied'],
    stage: 'validate',
    cause: 'The code, token or password was rejected.',
    fix: 'Start the sign-in again.',
    example: 'a case for which no finer reason exists',
  },
  access_token_missing: {
    codes: ['invalid_token', 'invalid_request'],
    stage: 'authenticate',
    cause: 'The request to the userinfo endpoint has no access token.',
    fix: 'Send Authorization: Bearer with an access token.',
    example: 'GET /userinfo without a header',
  },
  access_token_invalid: {
    codes: ['invalid_token'],
    stage: 'authenticate',
    cause: 'The access token is unknown, has expired, or was revoked.',
    fix: 'Refresh the token, or start the sign-in again.',
    example: 'a token that is older than two hours',
  },
  access_token_twice: {
    codes: ['invalid_request'],
    stage: 'read',
    cause:
      'The access token is in more than one place, in the query, or in a header of another form.',
    fix: 'Send Authorization: Bearer and the token, once.',
    example: 'GET /userinfo?access_token=...',
  },
  access_token_scope: {
    codes: ['insufficient_scope'],
    stage: 'authorize',
    cause: 'The access token lacks a scope that the request needs.',
    fix: 'Sign in with the scope openid.',
    example: 'a token for device:read at /userinfo',
  },
} as const satisfies Readonly<Record<string, FailureReason>>;
