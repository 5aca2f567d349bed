import type { IncomingMessage } from 'node:http';
import { failureReasons } from '@gatehouse/errors';
import type { ClientRegistry } from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import { StoreUnavailableError } from '@gatehouse/store';
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { GuardedFetchError } from '../guarded-fetch.ts';
import { renderErrorPage } from '../pages/error-page.ts';
import type { ProviderMiddleware } from '../provider/library.ts';
import { basicClientId, nameClient } from '../requests/caller.ts';
import { type Failure, failureOf, TRY_AGAIN } from '../requests/failures.ts';
import { contextOf } from '../requests/request-context.ts';
import { noteReason } from './reasons.ts';

type Context = Parameters<ProviderMiddleware>[0];

export const failingActions = [
  ...['grant', 'authorization', 'revocation', 'introspection', 'pushed_authorization_request'],
  ...['userinfo', 'device_authorization', 'code_verification', 'device_resume'],
  ...['end_session', 'end_session_confirm'],
];

/**
 * Adds the provider's outcomes to the log line of the request: codes and client ids, never values.
 */
export function logOutcomes(provider: Provider, clients: ClientRegistry): void {
  provider.use(async (context, next) => {
    try {
      await next();
    } finally {
      logClient(context, clients);
    }
  });
  for (const action of failingActions) {
    provider.on(`${action}.error` as 'grant.error', (context, error) => {
      const { notes } = observedRequest(context.req);
      notes.code = error.error;
      noteReason(context, error);
      const { cause } = error;
      if (cause instanceof StoreUnavailableError || cause instanceof GuardedFetchError) {
        notes.err = cause;
      }
    });
  }
  provider.on('server_error', (context, error) => {
    const failure = noteFailure(context, error);
    // If the library redirects instead of its 500, the application already gets the error.
    if (failure.retryAfterSeconds !== undefined && context.status >= 500) {
      writeFailure(context, failure);
    }
  });
}

/**
 * Handles errors that escape the library. Koa would reply without Gatehouse's headers and print the
 * error to stderr. An unavailable store is 503 here as everywhere.
 */
export const handleUnexpectedErrors: ProviderMiddleware = async (context, next) => {
  try {
    await next();
  } catch (error) {
    writeFailure(context, { ...noteFailure(context, error), description: TRY_AGAIN });
  }
};

/** Logs the client and the kind of its credential, for rejected requests as well. */
function logClient(context: Context, clients: ClientRegistry): void {
  const { oidc } = context as Partial<KoaContextWithOIDC>;
  const client = oidc?.client;
  if (client !== undefined) {
    const { notes } = observedRequest(context.req);
    const keyId = contextOf(context.req).secureKeyId;
    // At the userinfo endpoint, the access token is the proof.
    const isOfToken = oidc?.route === 'userinfo' && oidc.entities.AccessToken !== undefined;
    const verified = keyId !== undefined || isOfToken;
    Object.assign(notes, { clientId: client.clientId, keyId, verified });
    notes.userId ??= oidc?.account?.accountId;
    if (context.headers.authorization !== undefined) {
      const isBasic = /^basic /i.test(context.headers.authorization);
      notes.credential = isBasic ? 'basic' : 'bearer';
    } else if (oidc?.body?.client_secret !== undefined) {
      notes.credential = 'body';
    } else if (oidc?.body?.client_assertion !== undefined) {
      notes.credential = 'assertion';
    }
  } else if (oidc !== undefined && context.status >= 400) {
    void nameClientOf(context as KoaContextWithOIDC, clients);
  }
}

/**
 * Adds the client that a failed request presents to its log line, authenticated or not.
 *
 * @returns its id if it is registered
 */
export function nameClientOf(
  { oidc, headers, req }: KoaContextWithOIDC,
  clients: ClientRegistry,
): Promise<string | undefined> {
  const named = oidc.client?.clientId ?? oidc.params?.client_id;
  const presentedId = typeof named === 'string' ? named : basicClientId(headers.authorization);
  return nameClient(req, presentedId, clients);
}

function noteFailure(context: Context, error: unknown): Failure {
  const cause = error instanceof Error ? error.cause : undefined;
  const thrown = cause instanceof StoreUnavailableError ? cause : error;
  const failure = failureOf(thrown);
  const { notes } = observedRequest(context.req);
  notes.code = failure.code;
  notes.reason = failure.reason;
  if (failure.status !== 429) {
    notes.err = thrown;
  }
  return failure;
}

function writeFailure(context: Context, failure: Failure): void {
  const { status, code: error, description: error_description, retryAfterSeconds } = failure;
  context.status = status;
  if (retryAfterSeconds !== undefined) {
    context.set('Retry-After', String(retryAfterSeconds));
  }
  if (context.accepts('json', 'html') === 'html') {
    renderErrorPage(context, { error, error_description });
  } else {
    context.body = { error, error_description };
  }
}

const NO_CLIENT = 'no client authentication mechanism provided';

/**
 * Names mistakes that are evident from the request itself: no client authentication, or a required
 * parameter that is in the query or in a body without a type. The reply repeats names of parameters
 * only, never values, so it needs no authentication.
 */
export const explainMistakes: ProviderMiddleware = async (context, next) => {
  await next();
  const body = Object(context.body);
  const said = String(body.error_description);
  const hasNoClient = said === NO_CLIENT;
  if (!hasNoClient && !said.startsWith('missing required parameter')) {
    return;
  }
  const { notes } = observedRequest(context.req);
  if (hasNoClient) {
    // RFC 6749 §5.2: a request without client authentication is invalid_client. The library reports
    // invalid_request.
    notes.code = 'invalid_client';
    context.body = { ...body, error: 'invalid_client' };
    context.status = 401;
  }
  const needed = hasNoClient ? ['client_id'] : (said.match(/\w+/g) ?? []);
  const misplaced = needed.find((word) => context.query[word] !== undefined);
  const reason =
    (hasUntypedBody(context.req) && 'body_type_wrong') ||
    (misplaced && 'parameter_misplaced') ||
    (hasNoClient && 'client_authentication_malformed');
  if (reason) {
    const { cause, fix } = failureReasons[reason];
    const error_description =
      reason === 'parameter_misplaced'
        ? `${misplaced} was sent in the query. Send it in the form body.`
        : `${cause} ${fix}`;
    notes.reason = reason;
    context.body = { ...Object(context.body), error_description };
  }
};

/** The library reads no body without a type. */
function hasUntypedBody({ headers }: IncomingMessage): boolean {
  const { 'content-type': type, 'content-length': length = '0' } = headers;
  return type === undefined && (length !== '0' || headers['transfer-encoding'] !== undefined);
}
