import type { FailureReasonName } from '@gatehouse/errors';
import { type ClientRegistry, PasswordHashingBusyError } from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import { StoreUnavailableError } from '@gatehouse/store';
import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { renderErrorPage } from '../pages/error-page.ts';
import { nameClient } from '../requests/caller.ts';
import { type ClientCredentialKind, contextOf } from '../requests/request-context.ts';
import {
  RevocationPendingError,
  TooManyAttemptsError,
} from '../requests/too-many-attempts-error.ts';
import { presentedClientId } from './clients.ts';
import { type ProviderMiddleware, TemporarilyUnavailableError } from './library.ts';
import { noteReason } from './reasons.ts';

const TRY_AGAIN = 'Try again shortly.';

const failingActions = [
  ...['grant', 'authorization', 'revocation', 'introspection', 'pushed_authorization_request'],
  ...['userinfo', 'device_authorization', 'code_verification', 'device_resume'],
  ...['end_session', 'end_session_confirm'],
];

/**
 * Adds the provider's outcomes to the log line of the request: codes and client ids, never values.
 */
export function logOutcomes(provider: Provider, clients: ClientRegistry): void {
  provider.use(createClientLog(clients));
  for (const action of failingActions) {
    provider.on(`${action}.error` as 'grant.error', (context, error) => {
      const { notes } = observedRequest(context.req);
      notes.code = error.error;
      noteReason(context, error);
      if (error instanceof TemporarilyUnavailableError) {
        notes.err = error.cause;
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
function createClientLog(clients: ClientRegistry): ProviderMiddleware {
  return async (context, next) => {
    try {
      await next();
    } finally {
      const { oidc } = context as Partial<KoaContextWithOIDC>;
      if (oidc?.client !== undefined) {
        const { notes } = observedRequest(context.req);
        notes.clientId = oidc.client.clientId;
        notes.keyId = contextOf(context.req).secureKeyId;
        notes.verified = notes.keyId !== undefined || isOfToken(context.oidc);
        const credential = presentedCredential(context.headers.authorization, oidc.body);
        if (credential !== undefined) {
          notes.credential = credential;
        }
      } else if (oidc !== undefined && context.status >= 400) {
        void nameClient(context.req, presentedClientId(context as KoaContextWithOIDC), clients);
      }
    }
  };
}

/** At the userinfo endpoint, the access token is the proof. */
function isOfToken({ route, entities }: KoaContextWithOIDC['oidc']): boolean {
  return route === 'userinfo' && entities.AccessToken !== undefined;
}

function presentedCredential(
  authorization: string | undefined,
  body: KoaContextWithOIDC['oidc']['body'],
): ClientCredentialKind | undefined {
  if (authorization !== undefined) {
    return authorization.toLowerCase().startsWith('basic ') ? 'basic' : 'bearer';
  }
  return body?.client_secret === undefined ? undefined : 'body';
}

interface Failure {
  readonly status: 429 | 500 | 503;
  readonly code: 'too_many_requests' | 'temporarily_unavailable' | 'server_error';
  readonly reason: FailureReasonName;
  readonly description: string;
  readonly retryAfterSeconds?: number;
}

/** The failure for an exception that is no error of the library. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof TooManyAttemptsError) {
    const { reason, message, retryAfterSeconds } = thrown;
    const description = `${message} Try again later.`;
    return { status: 429, code: 'too_many_requests', reason, description, retryAfterSeconds };
  }
  const unavailable = { status: 503, code: 'temporarily_unavailable' } as const;
  if (thrown instanceof RevocationPendingError) {
    const { message: description, retryAfterSeconds } = thrown;
    return { ...unavailable, reason: 'revocation_pending', description, retryAfterSeconds };
  }
  const isHashingBusy = thrown instanceof PasswordHashingBusyError;
  if (thrown instanceof StoreUnavailableError || isHashingBusy) {
    const reason = isHashingBusy ? 'password_hashing_busy' : 'store_unavailable';
    const description = `The service is temporarily unavailable. ${TRY_AGAIN}`;
    return { ...unavailable, reason, description, retryAfterSeconds: 1 };
  }
  return {
    status: 500,
    code: 'server_error',
    reason: 'unexpected_error',
    description: TRY_AGAIN,
  };
}

function noteFailure(context: Context, error: unknown): Failure {
  const thrown = error instanceof TemporarilyUnavailableError ? error.cause : error;
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

type Context = Parameters<ProviderMiddleware>[0];
