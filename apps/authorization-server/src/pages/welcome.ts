import { html } from '@gatehouse/server';
import type { RequestHandler } from 'express';
import { SIGN_IN_LINK_SCRIPT_PATH } from './assets.ts';
import { sendPage, textsFor } from './page.ts';

/**
 * `/`, and the specification's `{auth_url}/#/user/login`. The part after `#` stays in the browser,
 * so the page's script reads it and continues to /authorize. Without a script or without that part,
 * it is a page with two links.
 */
export const serveWelcomePage: RequestHandler = (request, response) => {
  const texts = textsFor(request);
  const scripts = [SIGN_IN_LINK_SCRIPT_PATH];
  const content = html`<p class="lead">${texts.welcomeLead}</p>
<p class="actions"><a class="button primary" href="/account">${texts.openAccount}</a> <a class="button" href="/device">${texts.connectDevice}</a></p>
<noscript><p class="small">${texts.signInLinkNeedsScript}</p></noscript>`;
  sendPage(response, { texts, title: texts.welcomeTitle, content, scripts });
};
