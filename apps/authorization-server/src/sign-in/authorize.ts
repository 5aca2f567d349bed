import type { IncomingMessage } from 'node:http';
import type { ClientRegistry } from '@gatehouse/identity';
import { html } from '@gatehouse/server';
import type { RequestHandler } from 'express';
import { SUBMIT_FORM_SCRIPT_PATH } from '../pages/assets.ts';
import { formTargetsOf, showPage, textsFor } from '../pages/page.ts';
import type { ProviderMiddleware } from '../provider/library.ts';
import type { FormPostPage } from '../provider/patches.ts';
import { contextOf } from '../requests/request-context.ts';

/**
 * The specification replies to a GET with 302. After a POST it is 303, so that the browser never
 * forwards the body (RFC 9700 §4.12). A space is written as %20: a client that only percent-decodes
 * gets its `state` unchanged.
 */
export const redirectReply: ProviderMiddleware = async (context, next) => {
  await next();
  const location = context.res.getHeader('Location');
  if (typeof location !== 'string') {
    return;
  }
  const [address = '', ...answer] = location.split(/([?#])/);
  const rest = answer.join('').replaceAll('+', '%20');
  const isError = rest.startsWith('?') && new URLSearchParams(rest).has('error');
  const needsFragment = isError && !rest.includes('#') && mayHaveFragment(context.req);
  context.set('Location', address + rest + (needsFragment ? '#_' : ''));
  if (context.status === 303 && ['GET', 'HEAD'].includes(context.method)) {
    context.status = 302;
  }
};

/**
 * A browser appends the fragment of the address that it came from, which can hold a token of
 * another server (RFC 9700 §4.1.3). An empty fragment in the reply prevents this. Only a browser
 * that another site sent here needs it: after our own pages, and for a typed address, there is no
 * foreign fragment. Browsers send Sec-Fetch-Site, except old ones and those on plain http. The
 * User-Agent of every browser begins with Mozilla.
 */
function mayHaveFragment({ headers }: IncomingMessage): boolean {
  const { 'sec-fetch-site': site, 'user-agent': agent = '' } = headers;
  return agent.startsWith('Mozilla/') && site !== 'same-origin' && site !== 'none';
}

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
        contextOf(request).isRedirectUriOmitted = true;
      }
    }
    next();
  };
}

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

/** OAuth 2.0 Form Post Response Mode. Without scripts, the user presses the button. */
export const formPostPage: FormPostPage = (context, redirectUri, parameters) => {
  const texts = textsFor(context, context.oidc.params?.ui_locales);
  const title = texts.returningTitle;
  const fields = Object.entries(parameters).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${String(value)}">
`,
  );
  // The application may redirect the form to another of its hosts, and Chromium checks that
  // redirect as well.
  const formTargets = [...formTargetsOf(redirectUri), 'https:'];
  const content = html`<form method="post" action="${redirectUri}">
${fields}<button class="primary" type="submit">${texts.continue}</button>
</form>`;
  const scripts = [SUBMIT_FORM_SCRIPT_PATH];
  showPage(context, { texts, title, content, scripts, formTargets });
  if (context.status < 500) {
    context.status = 'error' in parameters ? 400 : 200;
  }
};
