import type { IncomingMessage } from 'node:http';
import { type Client, errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { SecurityProfile } from './grant-types.ts';
import { resolveScope } from './resolve-scope.ts';

/** The requests for `offline_access` that can be granted. */
const offlineRequests = new WeakSet<IncomingMessage>();

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
  // The library rejects a repeated parameter.
  if (client === undefined || params === undefined || Array.isArray(requested)) {
    return;
  }
  const isStrict = securityProfile === 'strict';
  // At the token endpoint, each grant has its own default, and under `strict` its own check.
  if (route === 'token' && (isStrict || requested === undefined)) {
    return;
  }
  const mayRefresh = canBeOffline(client, params.response_type);
  const scope = resolveScope({
    requested,
    registered: client.scope,
    excluded: isStrict || mayRefresh ? [] : ['offline_access'],
    securityProfile,
  });
  if (scope === '') {
    throw new errors.InvalidScope('this client is registered for no scope', '');
  }
  params.scope = scope;
  if (!isStrict && scope.split(' ').includes('offline_access')) {
    offlineRequests.add(context.req);
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
  if (oidc.params !== undefined && offlineRequests.has(req)) {
    oidc.params.scope = [...new Set([...oidc.requestParamScopes, 'offline_access'])].join(' ');
  }
}
