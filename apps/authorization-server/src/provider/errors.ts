import type { FailureReasonName } from '@gatehouse/errors';
import { type ClientRegistry, PasswordHashingBusyError } from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import { StoreUnavailableError } from '@gatehouse/store';
import type Provider from 'oidc-provider';
import type { errors, KoaContextWithOIDC } from 'oidc-provider';
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

/**
 * Adds the provider's outcomes to the log line of the request: codes and client ids, never values.
 */
export function logOutcomes(provider: Provider, clients: ClientRegistry): void {
  const logError = (context: KoaContextWithOIDC, error: errors.OIDCProviderError) => {
    const { notes } = observedRequest(context.req);
    notes.code = error.error;
    noteReason(context, error);
    if (error instanceof TemporarilyUnavailableError) {
      notes.err = error.cause;
    }
  };
  const logServerError = (context: KoaContextWithOIDC, error: Error) => {
    const { notes } = observedRequest(context.req);
    const limitError = toLimitError(error);
    notes.code = limitError?.error ?? 'server_error';
    notes.reason = limitError?.reason ?? 'unexpected_error';
    if (limitError?.status !== 429) {
      notes.err = error;
    }
    if (limitError !== undefined) {
      writeLimitError(context, limitError);
    }
  };
  provider.use(createClientLog(clients));
  provider.on('grant.error', logError);
  provider.on('authorization.error', logError);
  provider.on('revocation.error', logError);
  provider.on('introspection.error', logError);
  provider.on('pushed_authorization_request.error', logError);
  provider.on('userinfo.error', logError);
  provider.on('device_authorization.error', logError);
  provider.on('code_verification.error', logError);
  provider.on('device_resume.error', logError);
  provider.on('end_session.error', logError);
  provider.on('end_session_confirm.error', logError);
  provider.on('server_error', logServerError);
}

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

interface LimitError {
  readonly status: 429 | 503;
  readonly error: 'too_many_requests' | 'temporarily_unavailable';
  readonly reason: FailureReasonName;
  readonly error_description: string;
  readonly retryAfterSeconds: number;
}

/**
 * The error for an exception that the library would report as `server_error` 500; undefined for all
 * others.
 */
export function toLimitError(thrown: unknown): LimitError | undefined {
  if (thrown instanceof TooManyAttemptsError) {
    return {
      status: 429,
      error: 'too_many_requests',
      reason: thrown.reason,
      error_description: `${thrown.message} Try again later.`,
      retryAfterSeconds: thrown.retryAfterSeconds,
    };
  }
  if (thrown instanceof RevocationPendingError) {
    return {
      status: 503,
      error: 'temporarily_unavailable',
      reason: 'revocation_pending',
      error_description: thrown.message,
      retryAfterSeconds: thrown.retryAfterSeconds,
    };
  }
  return thrown instanceof StoreUnavailableError || thrown instanceof PasswordHashingBusyError
    ? {
        status: 503,
        error: 'temporarily_unavailable',
        reason:
          thrown instanceof StoreUnavailableError ? 'store_unavailable' : 'password_hashing_busy',
        error_description: 'The service is temporarily unavailable. Try again shortly.',
        retryAfterSeconds: 1,
      }
    : undefined;
}

/**
 * Replaces the library's 500 before it is written. If the library redirects instead, the
 * application already gets the error.
 */
export function writeLimitError(context: KoaContextWithOIDC, error: LimitError): void {
  if (context.status < 500) {
    return;
  }
  const { status, error: code, error_description, retryAfterSeconds } = error;
  context.status = status;
  context.set('Retry-After', String(retryAfterSeconds));
  if (context.accepts('json', 'html') === 'html') {
    renderErrorPage(context, { error: code, error_description });
  } else {
    context.body = { error: code, error_description };
  }
}

/**
 * Handles errors that escape the library. Koa would reply without Gatehouse's headers and print the
 * error to stderr. An unavailable store is 503 here as everywhere.
 */
export const handleUnexpectedErrors: ProviderMiddleware = async (context, next) => {
  try {
    await next();
  } catch (error) {
    const unavailable =
      error instanceof StoreUnavailableError || error instanceof TemporarilyUnavailableError;
    const { notes } = observedRequest(context.req);
    notes.code = unavailable ? 'temporarily_unavailable' : 'server_error';
    notes.reason = unavailable ? 'store_unavailable' : 'unexpected_error';
    notes.err = error instanceof TemporarilyUnavailableError ? error.cause : error;
    context.status = unavailable ? 503 : 500;
    const answer = { error: notes.code, error_description: 'Try again shortly.' };
    if (unavailable) {
      context.set('Retry-After', '1');
    }
    if (context.accepts('json', 'html') === 'html') {
      renderErrorPage(context, answer);
    } else {
      context.body = answer;
    }
  }
};
