import type { FailureReasonName } from '@gatehouse/errors';

/**
 * The errors that are pages, with the reason of each unless a finer one was noted. Each name is the
 * code in the log and the key of the text.
 */
export const pageErrors = {
  signInExpired: 'sign_in_expired',
  signInStartAgain: 'sign_in_expired',
  signInCompleted: 'sign_in_expired',
  tooManyAttempts: 'sign_in_address_limit',
  tooManyRequests: 'request_limit',
  formRefused: 'form_refused',
  wasSignedOut: 'form_refused',
  unavailable: 'store_unavailable',
  unexpected: 'unexpected_error',
  notFound: 'not_found',
  badRequest: 'form_refused',
  methodNotAllowed: 'method_not_allowed',
  cookiesNeeded: 'cookies_missing',
  cookiesBlocked: 'cookies_missing',
} as const satisfies Readonly<Record<string, FailureReasonName>>;

export type PageError = keyof typeof pageErrors;

/** The codes of forms that are shown again with a problem. The sign-in has noted its reason. */
export const formProblems = {
  signInFailed: 'password_wrong',
  passwordRefused: 'password_change_refused',
} as const satisfies Readonly<Record<string, FailureReasonName>>;
