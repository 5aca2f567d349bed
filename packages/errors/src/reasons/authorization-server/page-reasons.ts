import type { FailureReason } from '../failure-reason.ts';

/** Why a page showed an error, and the limits of the authorization server. */
export const pageReasons = {
  sign_in_expired: {
    codes: [
      'signInExpired',
      'signInStartAgain',
      'signInCompleted',
      'invalid_request',
      'SessionNotFound',
    ],
    stage: 'validate',
    cause: 'The sign-in has expired, was completed, or is not known in this browser.',
    fix: 'Go back to the application and start the sign-in again.',
    example: 'the back button after a sign-in',
  },
  sign_in_of_another_browser: {
    codes: ['signInExpired', 'invalid_request'],
    stage: 'validate',
    cause: 'The address of the sign-in belongs to another sign-in than the cookie of the browser.',
    fix: 'Continue in the browser in which the sign-in started, with one tab.',
    example: 'a sign-in link that was sent to another person',
  },
  cookies_missing: {
    codes: ['cookiesBlocked', 'cookiesNeeded', 'signInExpired', 'invalid_request', 'formRefused'],
    stage: 'validate',
    cause: 'The browser sent no cookies, so the server does not know its sign-in.',
    fix: 'Allow cookies for the address of the server. Operators: check that a proxy forwards Cookie and Set-Cookie.',
    example: 'a browser that blocks cookies',
  },
  form_token_invalid: {
    codes: ['formRefused', 'wasSignedOut', 'invalid_request'],
    stage: 'authenticate',
    cause: 'The form has no valid token: it is too old, or it belongs to another session or step.',
    fix: 'Reload the page and submit the form again.',
    example: 'a form that was open overnight',
  },
  form_of_another_site: {
    codes: ['formRefused'],
    stage: 'authenticate',
    cause: 'Another site posted the form (Sec-Fetch-Site).',
    fix: 'Open the page on the address of the server and submit the form there.',
    example: 'a page of an attacker that posts a form',
  },
  page_unknown: {
    codes: ['notFound'],
    stage: 'read',
    cause: 'No page has this path.',
    fix: 'Check the address. Letter case and a slash at the end count.',
    example: 'GET /Account',
  },
  page_method_wrong: {
    codes: ['methodNotAllowed'],
    stage: 'read',
    cause: 'The page does not support the method.',
    fix: 'Use a method from the Allow header of the reply.',
    example: 'POST / instead of GET',
  },
  page_form_unreadable: {
    codes: ['badRequest'],
    stage: 'read',
    cause: 'The form of a page is too large, compressed in an unknown way, or malformed.',
    fix: 'Submit the form of the page itself.',
    example: 'a form of 40 KiB',
  },
  user_code_missing: {
    codes: ['NoCodeError'],
    stage: 'validate',
    cause: 'The user submitted the page for devices without a code.',
    fix: 'Enter the code that the device shows.',
    example: 'an empty field',
  },
  user_code_unknown: {
    codes: ['NotFoundError'],
    stage: 'validate',
    cause: 'No device has the code that was entered, or its code was deleted.',
    fix: 'Compare the code with the device. Start again on the device if it is old.',
    example: 'a typing error in the code',
  },
  user_code_expired: {
    codes: ['ExpiredError'],
    stage: 'validate',
    cause: 'The code of the device has expired.',
    fix: 'Start again on the device, and enter its new code.',
    example: 'a code that is older than ten minutes',
  },
  user_code_used: {
    codes: ['AlreadyUsedError'],
    stage: 'validate',
    cause: 'The code of the device was already used.',
    fix: 'Start again on the device if it is not connected.',
    example: 'the same link opened twice',
  },
  user_code_limit: {
    codes: ['tooManyAttempts'],
    stage: 'limit',
    cause:
      'There were too many wrong device codes from this address, from this user, or from users who are not signed in.',
    fix: 'Wait ten minutes, or sign in before you enter the code.',
    example: 'an attacker who guesses codes',
  },
  client_secret_limit: {
    codes: ['too_many_requests'],
    stage: 'limit',
    cause: 'There were too many wrong secrets for this client from this address.',
    fix: 'Correct the secret, and wait for the seconds in Retry-After.',
    example: 'a service that repeats a wrong secret in a loop',
  },
  request_limit: {
    codes: ['too_many_requests', 'tooManyRequests'],
    stage: 'limit',
    cause: 'The address sent too many requests to these endpoints within a minute.',
    fix: 'Wait for the seconds in Retry-After. Operators: check TRUSTED_PROXIES, or raise CLIENT_ENDPOINT_RATE_LIMIT or PAGE_RATE_LIMIT.',
    example: 'a client that requests a token for each call',
  },
  revocation_pending: {
    codes: ['temporarily_unavailable', 'service_unavailable'],
    stage: 'store',
    cause:
      'An operator has just revoked the tokens of this client, this user or everyone. Until the next second, new tokens would be revoked as well.',
    fix: 'Send the request again after the seconds in Retry-After.',
    example: 'a token request right after gatehouse revoke client',
  },
  stored_tokens_limit: {
    codes: ['too_many_requests'],
    stage: 'limit',
    cause:
      'The tokens of this client or user, or of its organization, take up too much of the store.',
    fix: 'Use each token until it expires. Operators can disable the client, or raise maxmemory of Redis.',
    example: 'a client that requests a token for each call',
  },
  stored_bytes_limit: {
    codes: ['too_many_requests'],
    stage: 'limit',
    cause:
      'Pushed requests or device codes of this address, this client or all public clients take up too much of the store.',
    fix: 'Wait for the seconds in Retry-After. Send shorter parameters.',
    example: 'a script that pushes thousands of requests',
  },
} as const satisfies Readonly<Record<string, FailureReason>>;
