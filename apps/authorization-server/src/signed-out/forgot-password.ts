/**
 * The page on which users without a password ask for a link. Its reply is the same for every name: the
 * lookup happens later, where nobody waits (mail/compose.ts). Anyone can ask for anyone, so the form
 * needs no token of its browser.
 */

import type { Identity } from '@gatehouse/identity';
import { type Html, html } from '@gatehouse/server';
import { type RequestHandler, Router } from 'express';
import { mailOrigin } from '../mail/compose.ts';
import { rejectMethods } from '../pages/error-page.ts';
import { formField, linkButton, parseForm, sendPage, textsFor } from '../pages/page.ts';
import type { Texts } from '../pages/texts-en.ts';
import { FORGOT_PASSWORD_PATH } from '../requests/routes.ts';

/** The queue of these requests. No id of an organization contains a space. */
const QUEUE = 'new passwords';
/** The length of an address. */
const MAXIMUM_LOGIN_CHARACTERS = 254;

/** @param limit of the requests of an address group */
export function createForgotPasswordRoutes(
  mails: Pick<Identity['mails'], 'add'>,
  limit: RequestHandler,
): Router {
  const router = Router({ caseSensitive: true, strict: true });

  router.get('/', (request, response) => {
    const texts = textsFor(request);
    const content = html`<p class="lead">${texts.forgotLead}</p>
<form method="post" action="${FORGOT_PASSWORD_PATH}">
<input type="hidden" name="interaction" value="${interactionIn(request.query.interaction)}">
<label for="login">${texts.usernameOrEmail}</label>
<input id="login" name="login" type="text" autocomplete="username" autocapitalize="none" autocorrect="off" spellcheck="false" required maxlength="${String(MAXIMUM_LOGIN_CHARACTERS)}" autofocus>
<button class="primary" type="submit">${texts.sendLink}</button>
</form>`;
    sendPage(response, { texts, title: texts.forgotTitle, content });
  });

  router.post('/', limit, parseForm, async (request, response) => {
    const login = formField(request, 'login').slice(0, MAXIMUM_LOGIN_CHARACTERS);
    await mails.add(QUEUE, { kind: 'reset', login, ...mailOrigin(request) });
    const interaction = interactionIn(formField(request, 'interaction'));
    const query = interaction === '' ? '' : `?interaction=${interaction}`;
    response.redirect(303, `${FORGOT_PASSWORD_PATH}/sent${query}`);
  });

  router.get('/sent', (request, response) => {
    const texts = textsFor(request);
    const content = mailSentContent(texts, texts.forgotSent, request.query.interaction);
    sendPage(response, { texts, title: texts.mailSentTitle, content });
  });

  router.use(rejectMethods(router));
  return router;
}

/** @param interaction the sign-in to which the user can return */
export function mailSentContent(texts: Texts, lead: string, interaction: unknown): Html {
  const id = interactionIn(interaction);
  return html`<p>${lead}</p>
<p class="small">${texts.mailSentHint}</p>
${id === '' ? undefined : linkButton(`/sign-in/${id}`, texts.backToSignIn)}`;
}

/** Its id, or nothing, so that the address of a link leads to no other page. */
function interactionIn(value: unknown): string {
  return typeof value === 'string' && /^[\w-]{1,64}$/.test(value) ? value : '';
}
