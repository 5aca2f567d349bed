import { type Client, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { contextOf } from '../requests/request-context.ts';
import type { SecurityProfile } from './clients.ts';

/**
 * Replaces the requested scope by the scope that the request can be granted, before the library
 * checks it. The library treats a client without scopes as a client with all of them, and a request
 * without a scope as a request for nothing.
 *
 * @throws InvalidScope when no usable scope is left
 */
export function settleScope(
  context: KoaContextWithOIDC | undefined,
  securityProfile: SecurityProfile,
): void {
  const { client, params, route } = context?.oidc ?? {};
  const requested = params?.scope;
  // The library rejects a repeated parameter.
  if (
    context === undefined ||
    client === undefined ||
    params === undefined ||
    Array.isArray(requested)
  ) {
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

export interface ScopeRequest {
  readonly requested: unknown;
  /** The registered scopes of the client, separated by spaces. */
  readonly registered: string | undefined;
  /** Scopes that this request never grants: OpenID Connect scopes need a user. */
  readonly excluded: readonly string[];
  readonly securityProfile: SecurityProfile;
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
export function resolveScope(request: ScopeRequest): string {
  const { requested, excluded, securityProfile } = request;
  const allowed = splitScope(request.registered).filter((scope) => !excluded.includes(scope));
  if (requested === undefined) {
    return allowed.join(' ');
  }
  const isStrict = securityProfile === 'strict';
  const asked = [...new Set(isStrict ? String(requested).split(' ') : splitScope(requested))];
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

function splitScope(scope: unknown): readonly string[] {
  return String(scope ?? '')
    .split(' ')
    .filter((each) => each !== '');
}
