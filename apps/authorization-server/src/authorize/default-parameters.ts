import type { ClientRegistry } from '@gatehouse/identity';
import type { RequestHandler } from 'express';

/**
 * Adds parameters that the specification makes optional and the library requires: the scope (all registered scopes) and
 * the redirect URI of a client with only one.
 */
export function defaultParameters(clients: ClientRegistry): RequestHandler {
  return async (request, _response, next) => {
    const url = new URL(request.url, 'http://unused.invalid');
    const [clientId, ...others] = url.searchParams.getAll('client_id');
    const client =
      clientId === undefined || others.length > 0 ? undefined : await clients.find(clientId);
    const [redirectUri, ...otherUris] = client?.redirectUris ?? [];
    // A pushed request names everything itself (RFC 9126 §4).
    const isPushed = url.searchParams.has('request_uri');
    if (!isPushed && scopeIsOmitted(url) && client !== undefined && client.scopes.length > 0) {
      url.searchParams.set('scope', client.scopes.join(' '));
    }
    if (
      !url.searchParams.has('redirect_uri') &&
      !isPushed &&
      redirectUri !== undefined &&
      otherUris.length === 0
    ) {
      url.searchParams.set('redirect_uri', redirectUri);
    }
    // The library's page for this mode needs an inline script, which the pages forbid. With an unknown mode, the
    // library sends its error to the redirect URI.
    if (url.searchParams.get('response_mode') === 'form_post') {
      url.searchParams.set('response_mode', 'form_post_is_not_served');
    }
    request.url = `${url.pathname}${url.search}`;
    next();
  };
}

/** RFC 6749 §3.1: a parameter without a value counts as omitted. The library rejects a repeated one. */
function scopeIsOmitted({ searchParams }: URL): boolean {
  const values = searchParams.getAll('scope');
  return values.length === 0 || (values.length === 1 && values[0] === '');
}
