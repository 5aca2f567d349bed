import type { ClientRegistry } from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import type Provider from 'oidc-provider';
import type { errors, KoaContextWithOIDC } from 'oidc-provider';
import type { ClientCredentialKind } from '../../http/client-credential-kinds.ts';
import { nameClient } from '../../http/name-client.ts';
import { BodyTooLargeError } from '../../http/request-body.ts';
import { TemporarilyUnavailableError } from '../adapters/temporarily-unavailable-error.ts';
import { provenKeyOf } from '../patches/secure-keys-of-tokens.ts';
import { noteReason } from '../reasons/reason-of-error.ts';
import { presentedClientId } from './presented-client-id.ts';
import type { ProviderMiddleware } from './provider-middleware.ts';
import { toLimitError, writeLimitError } from './write-limit-error.ts';

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
    if (error.cause instanceof BodyTooLargeError) {
      context.status = 413;
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
        notes.keyId = provenKeyOf(context.req);
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
