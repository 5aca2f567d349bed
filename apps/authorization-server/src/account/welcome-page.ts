import type { RequestHandler } from 'express';
import { html } from '../pages/html.ts';
import { pageLanguage } from '../pages/language.ts';
import { renderPage } from '../pages/layout.ts';
import { contentSecurityPolicy } from '../pages/page-headers.ts';

export const SIGN_IN_LINK_SCRIPT_PATH = '/assets/sign-in-link.js';

/**
 * `/`, and the specification's `{auth_url}/#/user/login`. The part after `#` stays in the browser,
 * so the page's script reads it and continues to /authorize. Without a script or without that part,
 * it is a page with two links.
 */
export const serveWelcomePage: RequestHandler = (request, response) => {
  const { language, texts } = pageLanguage(request);
  const content = html`<h1>${texts.welcomeTitle}</h1>
<p class="lead">${texts.welcomeLead}</p>
<p class="actions"><a class="button primary" href="/account">${texts.openAccount}</a> <a class="button" href="/device">${texts.connectDevice}</a></p>
<noscript><p class="small">${texts.signInLinkNeedsScript}</p></noscript>`;
  const title = texts.welcomeTitle;
  response.set('Content-Security-Policy', contentSecurityPolicy({ script: true }));
  response
    .type('html')
    .end(renderPage({ language, title, content, script: SIGN_IN_LINK_SCRIPT_PATH }));
};
