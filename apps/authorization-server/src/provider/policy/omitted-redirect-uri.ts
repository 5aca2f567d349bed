/**
 * RFC 6749 §4.1.3: a client that sent no `redirect_uri` to /authorize needs none at /token. The
 * request remembers the omission until its code is stored, and the code remembers it until it is
 * redeemed. Under `strict`, /token always requires the parameter.
 */
import type { IncomingMessage } from 'node:http';
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { SecurityProfile } from './grant-types.ts';

/**
 * The internal parameter that carries the omission through the sign-in. A request cannot set it.
 */
export const OMITTED = 'redirect_uri_omitted';

const requestsWithout = new WeakSet<IncomingMessage>();

/** Called when a request gets the only redirect URI of its client. */
export function markOmittedRedirectUri(request: IncomingMessage): void {
  requestsWithout.add(request);
}

/** Overwrites whatever the request sent under this name. */
export function rememberOmittedRedirectUri({ oidc, req }: KoaContextWithOIDC): void {
  if (oidc.params !== undefined) {
    oidc.params[OMITTED] = requestsWithout.has(req) ? 'true' : undefined;
  }
}

/**
 * The library requires the parameter at /token. adapters/omitted-redirect-uris.ts checks whether
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
