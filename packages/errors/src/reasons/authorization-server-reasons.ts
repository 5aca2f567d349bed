import { reasons } from './failure-reason.ts';
import { signInReasons } from './sign-in-reasons.ts';

/**
 * Reasons of the authorization server, in addition to error codes. A rejection of oidc-provider has
 * the reason of its OAuth error code, and the message of the library as its finding.
 */
export const authorizationServerReasons = {
  ...signInReasons,
  ...reasons(
    'validate',
    [
      'invalid_request',
      'invalid_request_uri',
      'request_not_supported',
      'request_uri_not_supported',
      'registration_not_supported',
      'unsupported_response_mode',
      'unmet_authentication_requirements',
    ],
    {
      invalid_request: {
        cause:
          'A parameter is missing, repeated or not supported, or the body or a header is malformed.',
        fix: 'Correct what the description of the reply names.',
      },
    },
  ),
  ...reasons('read', ['invalid_request', 'invalid_client'], {
    parameter_misplaced: {
      cause:
        'A parameter of the body is in the query of the address, where it is not read and reaches logs and histories.',
      fix: 'Send the parameter in the form body. If it was a real secret, replace it.',
    },
    body_type_wrong: {
      cause: 'The body has no Content-Type, or one that this endpoint does not read.',
      fix: 'Send Content-Type: application/x-www-form-urlencoded in UTF-8. The platform endpoint also reads application/json.',
    },
  }),
  ...reasons('authenticate', ['invalid_client', 'invalid_request'], {
    client_authentication_malformed: {
      cause: 'The request has no readable client id and secret, or has them in two places.',
      fix: 'Send the client id and secret once, with HTTP Basic (form-encoded, then Base64) or in the form body, or a client_assertion in the form body.',
    },
    invalid_client: {
      cause: 'The client could not be authenticated.',
      fix: 'Send the client id and the secret with HTTP Basic or in the form body. A public client sends only its client id.',
    },
    client_assertion_wrong: {
      cause: 'A check of the client assertion failed: its key, algorithm, audience, time or jti.',
      fix: 'Sign a new assertion for each request with a registered key. Its audience is the issuer, iss and sub are the client id, and it expires within an hour.',
    },
    client_secret_wrong: {
      cause: 'The secret is not one of the secure keys of the client.',
      fix: 'Compare the secret with the secure key of the client. After a rotation, the old key works until it is removed.',
    },
  }),
  ...reasons('authenticate', ['invalid_client', 'invalid_request', 'invalid_signature'], {
    client_unknown: {
      cause: 'No client with the presented client id is registered.',
      fix: 'Compare the client id, which is case-sensitive, with gatehouse clients list.',
    },
    client_disabled: {
      cause: 'The client is registered but disabled.',
      fix: 'Enable the client: gatehouse clients change ID --enable.',
    },
  }),
  ...reasons(
    'authorize',
    [
      'unauthorized_client',
      'unsupported_grant_type',
      'unsupported_response_type',
      'invalid_client_metadata',
    ],
    {
      unauthorized_client: {
        cause:
          'The client may not use this grant type, response type or endpoint, or its registration is invalid.',
        fix: 'Use a grant type that the client is registered for. Operators: gatehouse clients show ID, then gatehouse clients change.',
      },
    },
  ),
  ...reasons('authorize', ['invalid_scope', 'insufficient_scope'], {
    invalid_scope: {
      cause: 'The scope is malformed, or cannot be granted to this client, user or token.',
      fix: 'Request scopes that are registered for the client, separated by single spaces, or omit scope.',
    },
  }),
  ...reasons('authorize', ['invalid_target'], {
    invalid_target: {
      cause: 'The resource is unknown or was not granted, or the client has no scope there.',
      fix: 'Send one resource that gatehouse resources list shows. Give the client a scope of it: gatehouse clients change ID --add-scope SCOPE.',
    },
  }),
  ...reasons('validate', ['invalid_redirect_uri', 'invalid_request'], {
    invalid_redirect_uri: {
      cause: 'The redirect URI does not equal one that is registered for the client.',
      fix: 'Send exactly a registered redirect URI: scheme, host, port, path, query and letter case count.',
    },
  }),
  ...reasons('validate', ['invalid_grant', 'expired_token', 'access_denied'], {
    invalid_grant: {
      cause: 'The code, token or password was rejected. The finding names the check that failed.',
      fix: 'Use each code and refresh token once, with the client, redirect_uri and code_verifier of its sign-in. Otherwise start the sign-in again.',
    },
  }),
  ...reasons('validate', ['invalid_grant'], {
    refresh_token_unknown: {
      cause: 'The refresh token has expired, was revoked, or belongs to another installation.',
      fix: 'Let the user sign in again. To keep users signed in for longer, raise the lifetimes refreshToken and refreshTokenIdle.',
    },
  }),
  ...reasons('validate', ['authorization_pending', 'slow_down'], {
    authorization_pending: {
      cause: 'The user has not allowed the device yet, or the device polled too early.',
      fix: 'Poll again after the interval of the first reply. After slow_down, wait five seconds longer.',
    },
  }),
  ...reasons('authenticate', ['invalid_token', 'unsupported_token_type'], {
    invalid_token: {
      cause: 'The access token is missing, unknown, expired, revoked, or of an unsupported type.',
      fix: 'Send a current access token with Authorization: Bearer. An ID token is not accepted.',
    },
  }),
  ...reasons('authorize', ['login_required', 'consent_required', 'interaction_required'], {
    login_required: {
      cause: 'The request has prompt=none, but the user has to sign in or consent first.',
      fix: 'Send the request without prompt=none.',
    },
  }),
  ...reasons('authorize', ['access_denied'], {
    user_denied: {
      cause: 'The user denied the request, or the sign-in was interrupted.',
      fix: 'Do not ask again without an action of the user.',
    },
  }),
  ...reasons(
    'validate',
    ['signInExpired', 'signInStartAgain', 'signInCompleted', 'invalid_request', 'SessionNotFound'],
    {
      sign_in_expired: {
        cause:
          'The sign-in has expired, was completed, or belongs to another browser or another tab.',
        fix: 'Go back to the application and start the sign-in again, with one tab.',
      },
    },
  ),
  ...reasons(
    'validate',
    ['cookiesBlocked', 'cookiesNeeded', 'signInExpired', 'invalid_request', 'formRefused'],
    {
      cookies_missing: {
        cause: 'The browser sent no cookies, so the server does not know its sign-in.',
        fix: 'Allow cookies for the address of the server. Operators: check that a proxy forwards Cookie and Set-Cookie.',
      },
    },
  ),
  ...reasons('authenticate', ['linkInvalid'], {
    link_invalid: {
      cause: 'The link is unknown, used or expired, or the account changed since it was issued.',
      fix: 'Get a new link. Operators: gatehouse users password --link.',
    },
  }),
  ...reasons('authenticate', ['formRefused', 'wasSignedOut', 'invalid_request', 'badRequest'], {
    form_refused: {
      cause:
        'The form has no valid token, is unreadable, or was posted by another site (Sec-Fetch-Site).',
      fix: 'Reload the page and submit its own form again.',
    },
  }),
  ...reasons('validate', ['accountRefused', 'profileRefused', 'removalRefused'], {
    account_form_invalid: {
      cause:
        'A name, address or password is invalid, taken or not allowed, the profile was changed too often, or another username was typed.',
      fix: 'Users: correct what the page names. Operators: compare the address with emailDomains of registration.',
    },
  }),
  ...reasons('validate', ['NoCodeError', 'NotFoundError', 'ExpiredError', 'AlreadyUsedError'], {
    user_code_invalid: {
      cause: 'The device code that the user entered is unknown, expired or used.',
      fix: 'Compare the code with the device. Start again on the device if it is old.',
    },
  }),
  ...reasons('limit', ['too_many_requests', 'tooManyRequests', 'tooManyAttempts', 'tooManyMails'], {
    user_code_limit: {
      cause:
        'There were too many wrong device codes from this address, from this user, or from users who are not signed in.',
      fix: 'Wait ten minutes, or sign in before you enter the code.',
    },
    client_secret_limit: {
      cause: 'There were too many wrong secrets for this client from this address.',
      fix: 'Correct the secret, and wait for the seconds in Retry-After.',
    },
    request_limit: {
      cause:
        'The address sent too many requests to these endpoints within a minute, or too many forms for mails or accounts.',
      fix: 'Wait for the seconds in Retry-After. Operators: check TRUSTED_PROXIES, or raise CLIENT_ENDPOINT_RATE_LIMIT or PAGE_RATE_LIMIT.',
    },
  }),
  ...reasons('store', ['temporarily_unavailable', 'service_unavailable'], {
    revocation_pending: {
      cause:
        'An operator has just revoked the tokens of this client, this user or everyone. Until the next second, new tokens would be revoked as well.',
      fix: 'Send the request again after the seconds in Retry-After.',
    },
  }),
};
