/**
 * The caller of the management API. An access token in `Authorization` is the only credential: a cookie,
 * an X-Access-Token, a signature or a token in the URL is never read.
 */
import type { IncomingMessage } from 'node:http';
import { ApiError } from '@gatehouse/errors';
import {
  type Identity,
  type OperatorAccess,
  type OperatorRefusal,
  type OperatorScope,
  operatorScopes,
  TWO_FACTORS,
} from '@gatehouse/identity';
import { BASE_PATH } from './operation.ts';

/** RFC 9728 §3.1: before the path of the resource. */
export const METADATA_PATH = `/.well-known/oauth-protected-resource${BASE_PATH}`;

/** As in RFC 6750 §2.1. No token is longer. */
const BEARER = /^Bearer +([\w.~+/-]{1,4096}=*) *$/i;
const SCHEME = /^Bearer(?: |$)/i;

export interface Places {
  /** Of the authorization server. */
  readonly issuer: string;
  /** The public origin of the console. */
  readonly consoleUrl: string;
}

/** The metadata that names the authorization server of the API (RFC 9728 §2). */
export const metadataOf = ({ issuer, consoleUrl }: Places) => ({
  resource: consoleUrl + BASE_PATH,
  authorization_servers: [issuer],
  scopes_supported: operatorScopes,
  bearer_methods_supported: ['header'],
  resource_name: 'Gatehouse management API',
});

type Reason = OperatorRefusal | 'token_malformed';

/** What was found, and how to fix it. @param scope what the operation needs */
function messagesOf(issuer: string, resource: string, scope: OperatorScope) {
  const renewal = `Get a new one from ${issuer} for the resource ${resource}.`;
  const messages: Readonly<Record<Reason, string>> = {
    token_missing: `The request has no access token. Send the header Authorization: Bearer TOKEN, with a token of ${issuer} for the resource ${resource}. This API accepts no cookie, X-Access-Token or signature.`,
    token_malformed:
      'The header Authorization has a text that is no token. Send the access token exactly as the token reply contains it, without quotation marks or line breaks.',
    token_unknown: `The access token is unknown. It expired or was revoked some time ago, or belongs to another installation. ${renewal}`,
    token_expired: `The access token has expired. ${renewal}`,
    token_revoked: `The access token was revoked, or its client or user was disabled. ${renewal} If that fails, ask another operator to enable the client or the user.`,
    token_for_other_resource: `The access token is for another API. Request one with the parameter resource=${resource}.`,
    user_authentication_insufficient:
      'The user of the token signed in with one factor. Send the user to the authorization endpoint with the acr_values of WWW-Authenticate, to sign in with a second factor.',
    role_missing:
      'The user of the token has none of the roles in the setting operators. Another operator can give the user one of them.',
    access_denied: `The operation needs the scope ${scope}, which the token does not have. Register the client for the scope, then request a token with it.`,
  };
  return messages;
}

/** The error of RFC 6750 and RFC 9470. A caller without a token learns only how to get one. */
const errors: Readonly<Partial<Record<Reason, string | undefined>>> = {
  token_missing: undefined,
  user_authentication_insufficient: 'insufficient_user_authentication',
  role_missing: 'insufficient_scope',
  access_denied: 'insufficient_scope',
};

export function createAuthentication(
  { issuer, consoleUrl }: Places,
  { verifyOperatorToken }: Pick<Identity, 'verifyOperatorToken'>,
) {
  function rejected(reason: Reason, scope: OperatorScope): ApiError {
    const error = reason in errors ? errors[reason] : 'invalid_token';
    const isForbidden = error === 'insufficient_scope';
    const parameters = Object.entries({
      realm: 'gatehouse',
      ...(error !== undefined && { error }),
      ...((error === undefined || isForbidden) && { scope }),
      ...(reason === 'user_authentication_insufficient' && { acr_values: TWO_FACTORS }),
      resource_metadata: consoleUrl + METADATA_PATH,
    });
    const challenge = parameters.map(([name, value]) => `${name}="${value}"`).join(', ');
    return new ApiError(isForbidden ? 'access_denied' : 'unauthorized', {
      message: messagesOf(issuer, consoleUrl + BASE_PATH, scope)[reason],
      headers: { 'WWW-Authenticate': `Bearer ${challenge}` },
      reason,
      finding: reason === 'access_denied' ? scope : undefined,
    });
  }

  /**
   * @returns the caller
   * @throws ApiError `unauthorized` or `access_denied` with a challenge, StoreUnavailableError
   */
  return async (
    { headers: { authorization = '' } }: IncomingMessage,
    scope: OperatorScope,
  ): Promise<OperatorAccess> => {
    const [, token] = BEARER.exec(authorization) ?? [];
    if (token === undefined && SCHEME.test(authorization)) {
      throw rejected('token_malformed', scope);
    }
    const access = await verifyOperatorToken(token, scope);
    if ('refused' in access) {
      throw rejected(access.refused, scope);
    }
    return access;
  };
}
