import type { FailureReason } from '../failure-reason.ts';

/**
 * Why a user was not signed in. They are in the log and the audit trail only: every reply is the
 * same.
 */
export const signInReasons = {
  user_unknown: {
    codes: ['signInFailed', 'invalid_grant'],
    stage: 'authenticate',
    cause: 'No user has the username that was entered.',
    fix: 'Compare the spelling with gatehouse users list. Users: check the username.',
    example: 'a typing error in the username',
  },
  password_wrong: {
    codes: ['signInFailed', 'invalid_grant', 'passwordRefused'],
    stage: 'authenticate',
    cause: 'The password of the user is wrong.',
    fix: 'Users: enter the password again. Operators: set a new password with gatehouse users password.',
    example: 'caps lock',
  },
  account_disabled: {
    codes: ['signInFailed', 'invalid_grant', 'passwordRefused'],
    stage: 'authenticate',
    cause: 'The account of the user is disabled.',
    fix: 'Operators: enable the user with gatehouse users change --enable.',
    example: 'a user who left the organization',
  },
  account_locked: {
    codes: ['signInFailed', 'invalid_grant', 'passwordRefused'],
    stage: 'limit',
    cause: 'The account is locked for this device after too many wrong passwords.',
    fix: 'Wait 15 minutes, or unlock the user with gatehouse users change --unlock.',
    example: 'ten wrong passwords in a row',
  },
  user_changed_during_sign_in: {
    codes: ['signInFailed', 'invalid_grant', 'passwordRefused'],
    stage: 'authenticate',
    cause: 'The password or the state of the user changed while the password was verified.',
    fix: 'Sign in again.',
    example: 'an operator who sets a new password at the same moment',
  },
  user_of_another_organization: {
    codes: ['signInFailed', 'invalid_grant'],
    stage: 'authorize',
    cause:
      'The client signs in only users of its own organization, and the user belongs to another one.',
    fix: 'Sign in with a user of the organization, or change the client.',
    example: 'a client with ownOrganizationOnly',
  },
  password_too_long: {
    codes: ['signInFailed', 'invalid_grant', 'invalid_request', 'passwordRefused'],
    stage: 'validate',
    cause: 'The password is longer than the server accepts.',
    fix: 'Enter the password again. No valid password is that long.',
    example: 'a file in the password field',
  },
  password_change_refused: {
    codes: ['passwordRefused'],
    stage: 'validate',
    cause:
      'The new password violates the password policy, equals the old one, or was repeated differently.',
    fix: 'Users: choose another password. The page names the problem.',
    example: 'a password of six characters',
  },
  sign_in_address_limit: {
    codes: ['too_many_requests', 'tooManyAttempts'],
    stage: 'limit',
    cause: 'There were too many sign-ins from this address.',
    fix: 'Wait for the seconds in Retry-After. Check TRUSTED_PROXIES if all users share one address.',
    example: 'an attacker who tries many usernames',
  },
  sign_in_user_limit: {
    codes: ['tooManyAttempts'],
    stage: 'limit',
    cause: 'There were too many sign-ins of this user from browsers with an earlier sign-in.',
    fix: 'Wait for the seconds in Retry-After. Check which program signs the user in again and again.',
    example: 'a script that signs in with the cookies of a browser',
  },
  password_hashing_busy: {
    codes: ['temporarily_unavailable', 'unavailable'],
    stage: 'limit',
    cause: 'Too many passwords were waiting to be verified.',
    fix: 'Send the request again after the seconds in Retry-After. Operators: add processors or servers.',
    example: 'all users sign in after an outage',
  },
} as const satisfies Readonly<Record<string, FailureReason>>;
