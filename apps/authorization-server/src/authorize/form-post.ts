import type { RequestHandler } from 'express';

/**
 * OpenID Connect Core §3.1.2.1: the authorization request may be posted as a form. The reply
 * redirects to a GET, because the session cookie is SameSite=Lax and a browser does not send it
 * with another site's POST.
 */
export const redirectPostedRequest: RequestHandler = (request, response) => {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(request.body ?? {})) {
    for (const each of [value].flat()) {
      parameters.append(name, String(each));
    }
  }
  response.redirect(303, `${request.path}?${parameters}`);
};
