import { observedRequest } from '@gatehouse/http-server';
import type Provider from 'oidc-provider';
import type { errors, KoaContextWithOIDC } from 'oidc-provider';
import type { ClientCredentialKind } from '../../http/client-credential-kinds.ts';
import { BodyTooLargeError } from '../../http/request-body.ts';
import { TemporarilyUnavailableError } from '../adapters/temporarily-unavailable-error.ts';
import type { ProviderMiddleware } from './provider-middleware.ts';
import { answerRefusal, toRefusal } from './write-limit-error.ts';

/** Puts the provider's outcomes into the request's one log line: codes and client ids, never values. */
export function logOutcomes(provider: Provider): void {
  const noteError = (context: KoaContextWithOIDC, error: errors.OIDCProviderError) => {
    const { notes } = observedRequest(context.req);
    notes.code = error.error;
    if (error instanceof TemporarilyUnavailableError) {
      notes.err = error.cause;
    }
    if (error.cause instanceof BodyTooLargeError) {
      context.status = 413;
    }
  };
  const noteServerError = (context: KoaContextWithOIDC, error: Error) => {
    const { notes } = observedRequest(context.req);
    const refusal = toRefusal(error);
    notes.code = refusal?.error ?? 'server_error';
    if (refusal?.status !== 429) {
      notes.err = error;
    }
    if (refusal !== undefined) {
      answerRefusal(context, refusal);
    }
  };
  provider.use(noteCaller);
  provider.on('grant.error', noteError);
  provider.on('authorization.error', noteError);
  provider.on('revocation.error', noteError);
  provider.on('introspection.error', noteError);
  provider.on('pushed_authorization_request.error', noteError);
  provider.on('userinfo.error', noteError);
  provider.on('device_authorization.error', noteError);
  provider.on('code_verification.error', noteError);
  provider.on('device_resume.error', noteError);
  provider.on('end_session.error', noteError);
  provider.on('end_session_confirm.error', noteError);
  provider.on('server_error', noteServerError);
}

/** Who called and by what credential, once the library knows, whatever became of it. */
const noteCaller: ProviderMiddleware = async (context, next) => {
  try {
    await next();
  } finally {
    const { oidc } = context as Partial<KoaContextWithOIDC>;
    if (oidc?.client !== undefined) {
      const { notes } = observedRequest(context.req);
      notes.clientId = oidc.client.clientId;
      const credential = presentedCredential(context.headers.authorization, oidc.body);
      if (credential !== undefined) {
        notes.credential = credential;
      }
    }
  }
};

function presentedCredential(
  authorization: string | undefined,
  body: KoaContextWithOIDC['oidc']['body'],
): ClientCredentialKind | undefined {
  if (authorization !== undefined) {
    return authorization.toLowerCase().startsWith('basic ') ? 'basic' : 'bearer';
  }
  return body?.client_secret === undefined ? undefined : 'body';
}
