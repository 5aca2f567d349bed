import type { ClientRegistry } from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import { StoreUnavailableError } from '@gatehouse/store';
import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { renderErrorPage } from '../pages/error-page.ts';
import { basicClientId, nameClient } from '../requests/caller.ts';
import { type Failure, failureOf, TRY_AGAIN } from '../requests/failures.ts';
import { contextOf } from '../requests/request-context.ts';
import { noteReason } from './reasons.ts';

export type Middleware = Parameters<Provider['use']>[0];
export type Context = Parameters<Middleware>[0];

export const failingActions = [
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
      if (error.cause instanceof StoreUnavailableError) {
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
export const handleUnexpectedErrors: Middleware = async (context, next) => {
  try {
    await next();
  } catch (error) {
    writeFailure(context, { ...noteFailure(context, error), description: TRY_AGAIN });
  }
};

/** Logs the client and the kind of its credential, for rejected requests as well. */
function createClientLog(clients: ClientRegistry): Middleware {
  return async (context, next) => {
    try {
      await next();
    } finally {
      const { oidc } = context as Partial<KoaContextWithOIDC>;
      const client = oidc?.client;
      if (client !== undefined) {
        const { notes } = observedRequest(context.req);
        const keyId = contextOf(context.req).secureKeyId;
        // At the userinfo endpoint, the access token is the proof.
        const isOfToken = oidc?.route === 'userinfo' && oidc.entities.AccessToken !== undefined;
        const verified = keyId !== undefined || isOfToken;
        Object.assign(notes, { clientId: client.clientId, keyId, verified });
        if (context.headers.authorization !== undefined) {
          const isBasic = /^basic /i.test(context.headers.authorization);
          notes.credential = isBasic ? 'basic' : 'bearer';
        } else if (oidc?.body?.client_secret !== undefined) {
          notes.credential = 'body';
        }
      } else if (oidc !== undefined && context.status >= 400) {
        void nameClientOf(context as KoaContextWithOIDC, clients);
      }
    }
  };
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
