import type { ClientRegistry } from '@gatehouse/identity';
import type { RequestHandler } from 'express';

/**
 * What an authorization request may leave out by the specification and the library wants: the scope (then
 * all the client is registered for) and, for a client with one, the redirect URI.
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
    // Under a name nobody serves, the refusal goes where the answer would have gone; the library's own page for
    // this mode needs an inline script, which our pages never have.
    if (url.searchParams.get('response_mode') === 'form_post') {
      url.searchParams.set('response_mode', 'form_post_is_not_served');
    }
    request.url = `${url.pathname}${url.search}`;
    next();
  };
}

/** RFC 6749 §3.1: a parameter without a value is as good as none. Sent twice, it is the library's to refuse. */
function scopeIsOmitted({ searchParams }: URL): boolean {
  const values = searchParams.getAll('scope');
  return values.length === 0 || (values.length === 1 && values[0] === '');
}
