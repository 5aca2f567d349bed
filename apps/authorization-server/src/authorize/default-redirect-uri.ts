import type { ClientRegistry } from '@gatehouse/identity';
import type { RequestHandler } from 'express';
import { markOmittedRedirectUri } from '../provider/policy/omitted-redirect-uri.ts';

/**
 * Adds the redirect URI of a client with only one. The specification makes the parameter optional
 * and the library requires it. A pushed request already contains all parameters (RFC 9126 §4).
 */
export function defaultRedirectUri(clients: ClientRegistry): RequestHandler {
  return async (request, _response, next) => {
    const url = new URL(request.url, 'http://unused.invalid');
    const [clientId, ...others] = url.searchParams.getAll('client_id');
    const isNamed = ['redirect_uri', 'request_uri'].some((name) => url.searchParams.has(name));
    if (clientId !== undefined && others.length === 0 && !isNamed) {
      const [redirectUri, ...otherUris] = (await clients.find(clientId))?.redirectUris ?? [];
      if (redirectUri !== undefined && otherUris.length === 0) {
        url.searchParams.set('redirect_uri', redirectUri);
        request.url = `${url.pathname}${url.search}`;
        markOmittedRedirectUri(request);
      }
    }
    next();
  };
}
