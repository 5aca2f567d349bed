import { reasons } from './failure-reason.ts';

const passwordCodes = ['signInFailed', 'invalid_grant', 'passwordRefused'];
const upstreamCodes = ['upstreamFailed', 'upstreamRefused', 'upstreamTaken'];

/**
 * Why a user was not signed in. They are in the log and the audit trail only: every reply is the
 * same.
 */
export const signInReasons = {
  ...reasons('authenticate', [...passwordCodes, ...upstreamCodes], {
    user_unknown: {
      cause: 'No user has the username that was entered.',
      fix: 'Compare the spelling with gatehouse users list. Users: check the username.',
    },
    account_disabled: {
      cause: 'The account of the user is disabled, or was changed while the password was verified.',
      fix: 'Sign in again. Operators: enable the user with gatehouse users change --enable.',
    },
    user_of_another_organization: {
      cause:
        'The client signs in only users of its own organization, and the user belongs to another one.',
      fix: 'Sign in with a user of the organization, or change the client.',
    },
  }),
  ...reasons('authenticate', ['codeRefused'], {
    second_factor_wrong: {
      cause: 'The code of the second factor is wrong, expired or used.',
      fix: 'Users: enter the next code of the app, or another recovery code. Operators: gatehouse users change --reset-factors, if the factor is lost.',
    },
  }),
  ...reasons('authenticate', ['passkeyRefused', 'codeRefused'], {
    passkey_unknown: {
      cause: 'No user has the passkey, it was removed, or operators do not allow passkeys.',
      fix: 'Users: sign in with the password, and add a passkey on the account page.',
    },
    passkey_wrong: {
      cause:
        'The signature, the origin or the challenge is wrong, the user was not verified, or the page was used before.',
      fix: 'Users: try again. Operators: compare AUTHORIZATION_SERVER_URL with the address in the browser.',
    },
    passkey_copied: {
      cause: 'The counter of the passkey did not increase, so a second authenticator may have it.',
      fix: 'Users: remove the passkey on the account page, and add another one.',
    },
  }),
  ...reasons('authorize', ['invalid_grant'], {
    second_factor_required: {
      cause: 'The user needs a second factor, which the password grant cannot ask for.',
      fix: 'Use the authorization code grant, or change secondFactor in the bootstrap file.',
    },
    password_change_required: {
      cause: 'The user must choose a new password, which the password grant cannot ask for.',
      fix: 'Users: sign in on the account page once.',
    },
  }),
  ...reasons('authenticate', upstreamCodes, {
    upstream_failed: {
      cause: 'The upstream provider did not identify the user. The finding names what failed.',
      fix: 'Sign in again, or in another way. Operators: compare the entry in upstreams with the registration at the provider.',
    },
    upstream_not_linked: {
      cause: 'The account at the upstream provider signs in no user here, or another user.',
      fix: 'Users: sign in another way, then connect the account on the account page. Operators: see createUsers and linkByVerifiedEmail.',
    },
  }),
  ...reasons('authenticate', [...passwordCodes, 'invalid_request'], {
    password_wrong: {
      cause: 'The password of the user is wrong, or longer than any password.',
      fix: 'Users: enter the password again. Operators: set a new password with gatehouse users password.',
    },
  }),
  ...reasons('validate', ['passwordRefused'], {
    password_change_refused: {
      cause:
        'The new password violates the password policy, equals the old one, or was repeated differently.',
      fix: 'Users: choose another password. The page names the problem.',
    },
  }),
  ...reasons('limit', [...passwordCodes, 'codeRefused', 'too_many_requests', 'tooManyAttempts'], {
    account_locked: {
      cause: 'The account is locked for this device after too many wrong passwords or codes.',
      fix: 'Wait 15 minutes, or a day after 30 wrong codes, or unlock the user with gatehouse users change --unlock.',
    },
    sign_in_address_limit: {
      cause: 'There were too many sign-ins from this address.',
      fix: 'Wait for the seconds in Retry-After. Check TRUSTED_PROXIES if all users share one address.',
    },
    sign_in_user_limit: {
      cause: 'There were too many sign-ins of this user from browsers with an earlier sign-in.',
      fix: 'Wait for the seconds in Retry-After. Check which program signs the user in again and again.',
    },
  }),
  ...reasons('limit', ['temporarily_unavailable', 'unavailable'], {
    password_hashing_busy: {
      cause: 'Too many passwords were waiting to be verified.',
      fix: 'Send the request again after the seconds in Retry-After. Operators: add processors or servers.',
    },
  }),
};
