/**
 * RFC 6749 §4.1.3: a client that sent no `redirect_uri` to /authorize needs none at /token. The
 * request remembers the omission until its code is stored, and the code remembers it until it is
 * redeemed. Under `strict`, /token always requires the parameter.
 */
import { type Adapter, type AdapterPayload, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { contextOf } from '../requests/request-context.ts';
import type { SecurityProfile } from './clients.ts';
import { currentContext, wrapAdapter } from './library.ts';

/**
 * The internal parameter that carries the omission through the sign-in. A request cannot set it.
 */
export const OMITTED = 'redirect_uri_omitted';

/** Overwrites whatever the request sent under this name. */
export function rememberOmittedRedirectUri({ oidc, req }: KoaContextWithOIDC): void {
  if (oidc.params !== undefined) {
    oidc.params[OMITTED] = contextOf(req).isRedirectUriOmitted ? 'true' : undefined;
  }
}

/**
 * The library requires the parameter at /token. `requireRedirectUri` checks whether
 * the code allows it.
 */
export function addOmittedRedirectUri(
  { oidc }: KoaContextWithOIDC,
  securityProfile: SecurityProfile,
): void {
  const { client, params } = oidc;
  const [redirectUri, ...others] = client?.redirectUris ?? [];
  if (
    securityProfile === 'compatible' &&
    params?.grant_type === 'authorization_code' &&
    params.redirect_uri === undefined &&
    others.length === 0
  ) {
    params.redirect_uri = redirectUri;
  }
}

interface CodePayload extends AdapterPayload {
  readonly redirectUriOmitted?: true;
}

/**
 * Requires `redirect_uri` at /token for every code whose authorization request had one (RFC 6749
 * §4.1.3).
 */
export function requireRedirectUri(stored: Adapter): Adapter {
  return wrapAdapter(stored, {
    async upsert(id, payload, expiresIn) {
      const isOmitted = currentContext()?.oidc.params?.[OMITTED] !== undefined;
      const code: CodePayload = isOmitted ? { ...payload, redirectUriOmitted: true } : payload;
      await stored.upsert(id, code, expiresIn);
    },
    async find(id) {
      const code = (await stored.find(id)) as CodePayload | undefined;
      const { oidc } = currentContext() ?? {};
      // A foreign client must not learn anything about the code.
      const isOwn = code !== undefined && code.clientId === oidc?.client?.clientId;
      const isRequired = isOwn && code.redirectUriOmitted !== true;
      if (isRequired && oidc?.route === 'token' && !oidc.body?.redirect_uri) {
        throw new errors.InvalidRequest('missing required parameter(s) (redirect_uri)');
      }
      return code;
    },
  });
}
