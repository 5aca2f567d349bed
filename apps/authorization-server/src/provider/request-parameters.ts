/** The scope and the redirect URI of a request that names none, or more than its client may have. */
import { type Adapter, type Client, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { contextOf } from '../requests/request-context.ts';
import type { SecurityProfile } from './clients.ts';
import { currentContext } from './library.ts';
import { settleResources } from './resources.ts';

/**
 * Replaces the requested scope by the scope that the request can be granted, before the library
 * checks it. The library treats a client without scopes as a client with all of them, and a request
 * without a scope as a request for nothing.
 *
 * @throws InvalidScope when no usable scope is left
 */
export function settleScope(context: KoaContextWithOIDC, securityProfile: SecurityProfile): void {
  const { client, params, route } = context.oidc;
  const requested = params?.scope;
  const isStrict = securityProfile === 'strict';
  const registered = settleResources(context);
  // At the token endpoint, each grant has its own default, and under `strict` its own check.
  const isSettled = route === 'token' && (isStrict || requested === undefined);
  // The library rejects a repeated parameter.
  if (client === undefined || params === undefined || Array.isArray(requested) || isSettled) {
    return;
  }
  const scope = resolveScope({
    requested,
    registered,
    excluded: isStrict || canBeOffline(client, params.response_type) ? [] : ['offline_access'],
    securityProfile,
  });
  if (scope === '') {
    throw new errors.InvalidScope('this client is registered for no scope', '');
  }
  params.scope = scope;
  if (!isStrict && scope.split(' ').includes('offline_access')) {
    contextOf(context.req).isOffline = true;
  }
}

/** Whether the reply to this request can contain a refresh token. */
function canBeOffline({ grantTypes = [] }: Client, responseType: unknown): boolean {
  const hasCode = responseType === undefined || String(responseType).split(' ').includes('code');
  return hasCode && grantTypes.includes('refresh_token');
}

/**
 * The library removes `offline_access` from a request without `prompt=consent`. Gatehouse always
 * asks for the user's consent to it (OpenID Connect Core §11 allows other conditions), so the reply
 * names it.
 */
export function keepOfflineAccess({ oidc, req }: KoaContextWithOIDC): void {
  if (oidc.params !== undefined && contextOf(req).isOffline) {
    oidc.params.scope = [...new Set([...oidc.requestParamScopes, 'offline_access'])].join(' ');
  }
}

/** RFC 6749 §3.3. */
const SCOPE_TOKEN = /^[\x21\x23-\x5B\x5D-\x7E]+$/;

/**
 * The granted scope: the requested scopes that are allowed, or all allowed scopes if the request
 * names none (RFC 6749 §3.3). Other scopes are ignored (OpenID Connect Core §3.1.2.1). The `strict`
 * profile rejects them.
 *
 * @throws InvalidScope for a malformed scope, or with the first scope that is unknown or not
 * allowed
 */
export function resolveScope(request: {
  readonly requested: unknown;
  /** The scopes of the client that the request can get. */
  readonly registered: readonly string[];
  /** Scopes that this request never grants: OpenID Connect scopes need a user. */
  readonly excluded: readonly string[];
  readonly securityProfile: SecurityProfile;
}): string {
  const { requested, registered, excluded } = request;
  const allowed = registered.filter((scope) => !excluded.includes(scope));
  if (requested === undefined) {
    return allowed.join(' ');
  }
  const isStrict = request.securityProfile === 'strict';
  const named = String(requested).split(' ');
  const asked = [...new Set(isStrict ? named : named.filter((scope) => scope !== ''))];
  if (asked.some((scope) => scope !== '' && !SCOPE_TOKEN.test(scope))) {
    throw new errors.InvalidScope('scope contains invalid characters', '');
  }
  const granted = asked.filter((scope) => allowed.includes(scope));
  if (granted.length === 0 || (isStrict && granted.length < asked.length)) {
    const rejected = asked.find((scope) => !allowed.includes(scope)) ?? '';
    throw new errors.InvalidScope('requested scope is not allowed', rejected);
  }
  return granted.join(' ');
}

/**
 * RFC 6749 §4.1.3: a client that sent no `redirect_uri` to /authorize needs none at /token. The
 * request remembers the omission until its code is stored, and the code remembers it until it is
 * redeemed. Under `strict`, /token always requires the parameter.
 *
 * This internal parameter carries the omission through the sign-in. A request cannot set it.
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
export function addOmittedRedirectUri({ oidc }: KoaContextWithOIDC): void {
  const { client, params } = oidc;
  const [redirectUri, ...others] = client?.redirectUris ?? [];
  if (params?.grant_type === 'authorization_code' && others.length === 0) {
    params.redirect_uri ??= redirectUri;
  }
}

/**
 * Requires `redirect_uri` at /token for every code whose authorization request had one (RFC 6749
 * §4.1.3).
 */
export function requireRedirectUri(stored: Adapter): Adapter {
  return {
    ...stored,
    async upsert(id, payload, expiresIn) {
      const isOmitted = currentContext()?.oidc.params?.[OMITTED] !== undefined;
      const code = isOmitted ? { ...payload, redirectUriOmitted: true } : payload;
      await stored.upsert(id, code, expiresIn);
    },
    async find(id) {
      const code = await stored.find(id);
      const { oidc } = currentContext() ?? {};
      // A foreign client must not learn anything about the code.
      const isOwn = code !== undefined && code.clientId === oidc?.client?.clientId;
      const isRequired = isOwn && code.redirectUriOmitted !== true;
      if (isRequired && oidc?.route === 'token' && !oidc.body?.redirect_uri) {
        throw new errors.InvalidRequest('missing required parameter(s) (redirect_uri)');
      }
      return code;
    },
  };
}
