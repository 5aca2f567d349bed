/**
 * Why oidc-provider rejected a request: the reason of its OAuth error code, and the message of the
 * library, verbatim, as the finding in the log. A client that proved its secret also reads the
 * message of a rejected grant.
 */
import {
  errorCatalogue,
  type FailureReasonName,
  failureReasons,
  signInReasons,
} from '@gatehouse/errors';
import { observedRequest } from '@gatehouse/server';
import type { errors, KoaContextWithOIDC } from 'oidc-provider';
import { contextOf } from '../requests/request-context.ts';

type LibraryError = Error & Partial<errors.OIDCProviderError>;

const MAXIMUM_FINDING_LENGTH = 200;

/** Every reason with the name of an OAuth error is the usual one of all its codes. */
const oauthReasons = Object.entries(failureReasons).filter(
  ([name, { codes }]) => codes.includes(name) && !Object.hasOwn(errorCatalogue, name),
) as unknown as readonly [FailureReasonName, { readonly codes: readonly string[] }][];

/**
 * Every OAuth error of a reply (docs/errors.md) and the library's names for errors of the device
 * page, with its reason.
 */
export const reasonsOfCodes: Readonly<Record<string, FailureReasonName>> = {
  ...Object.fromEntries(
    oauthReasons.flatMap(([name, { codes }]) => codes.map((code) => [code, name])),
  ),
  invalid_request: 'invalid_request',
  access_denied: 'user_denied',
  too_many_requests: 'request_limit',
  temporarily_unavailable: 'store_unavailable',
  server_error: 'unexpected_error',
  SessionNotFound: 'sign_in_expired',
  NoCodeError: 'user_code_invalid',
  NotFoundError: 'user_code_invalid',
  ExpiredError: 'user_code_invalid',
  AlreadyUsedError: 'user_code_invalid',
};

/** Notes reason and finding. The library can report several errors of a request: the last counts. */
export function noteReason(context: KoaContextWithOIDC, error: LibraryError): void {
  const { notes } = observedRequest(context.req);
  const finding = findingOf(context, error);
  notes.finding = finding?.slice(0, MAXIMUM_FINDING_LENGTH);
  const noted = notes.reason;
  notes.reason =
    // The throttle has noted why a password was rejected.
    (noted !== undefined && Object.hasOwn(signInReasons, noted) ? noted : undefined) ??
    reasonOfClient(context, error.error, finding) ??
    (isRefreshTokenUnknown(finding) ? 'refresh_token_unknown' : undefined) ??
    reasonsOfCodes[error.name] ??
    reasonsOfCodes[error.error ?? ''] ??
    'unexpected_error';
  explainToClient(context, notes.reason, finding);
}

/** The store deletes an expired token, so the library does not find it. */
const isRefreshTokenUnknown = (finding: string | undefined) =>
  finding === 'refresh token not found' || finding === 'refresh token is expired';

/** The reply never tells an unknown client, a disabled client and a wrong secret apart. */
function reasonOfClient(
  { req, oidc }: KoaContextWithOIDC,
  code: string | undefined,
  finding: string | undefined,
): FailureReasonName | undefined {
  if (finding === 'client not found') {
    return contextOf(req).isClientDisabled ? 'client_disabled' : 'client_unknown';
  }
  if (code === 'invalid_client' && oidc.params?.client_assertion !== undefined) {
    return 'client_assertion_wrong';
  }
  return finding === 'invalid secret provided' ? 'client_secret_wrong' : undefined;
}

/** To another client, every state of a code or token looks the same. */
function findingOf(
  { req, oidc }: KoaContextWithOIDC,
  { error, error_detail, error_description, cause }: LibraryError,
): string | undefined {
  const presented = contextOf(req).credential;
  if (error === 'invalid_grant' && presented?.clientId !== undefined) {
    if (presented.clientId !== oidc.client?.clientId) {
      return 'client mismatch';
    }
    if (presented.isRevoked) {
      return 'revoked with its user, client, secure key or consent';
    }
  }
  // The message of a JSON parser quotes the text of the caller.
  return (cause instanceof SyntaxError ? undefined : error_detail) ?? error_description;
}

/**
 * Names the failed check of a grant to a client that proved its secret in this request. All other
 * callers get the sentence of the library, which is the same for every check: they may hold a
 * stolen code (docs/security.md). An attacker who guesses passwords through a client must not learn
 * which part is wrong.
 */
function explainToClient(
  context: KoaContextWithOIDC,
  reason: FailureReasonName,
  finding: string | undefined,
): void {
  const { body, req } = context;
  const isAuthenticated = contextOf(req).secureKeyId !== undefined;
  const isOfGrant = reason === 'invalid_grant' || reason === 'refresh_token_unknown';
  const isRejected = Object(body).error === 'invalid_grant' && isOfGrant;
  if (isAuthenticated && isRejected && finding !== undefined) {
    const description = `The check failed: ${finding}. ${failureReasons.invalid_grant.fix}`;
    context.body = { ...Object(body), error_description: description };
  }
}
