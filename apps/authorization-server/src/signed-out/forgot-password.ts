/**
 * The page on which users without a password ask for a link. Its reply is the same for every name: the
 * lookup happens later, where nobody waits (mail/compose.ts).
 */
import { randomBytes } from 'node:crypto';
import { type RequestHandler, Router } from 'express';
import { MAXIMUM_LOGIN_CHARACTERS, type MailRequests } from '../mail/mail-requests.ts';
import { rejectMethods, sendErrorPage } from '../pages/error-page.ts';
import { type Html, html } from '../pages/html.ts';
import {
  type CsrfTokens,
  csrfField,
  formField,
  hasCookies,
  linkButton,
  parseForm,
  sendPage,
  textsFor,
} from '../pages/page.ts';
import type { Texts } from '../pages/texts-en.ts';
import type { BrowserState } from '../provider/browser-state.ts';
import { FORGOT_PASSWORD_PATH } from '../requests/routes.ts';

/** A form may stay open for so long. */
const FORM_SECONDS = 24 * 60 * 60;

interface Dependencies {
  readonly mails: MailRequests;
  readonly csrfTokens: CsrfTokens;
  readonly browserState: Pick<BrowserState, 'forgotPasswords'>;
  /** Limits the requests of an address group. */
  readonly limit: RequestHandler;
}

export function createForgotPasswordRoutes(dependencies: Dependencies): Router {
  const { mails, csrfTokens, browserState, limit } = dependencies;
  const forms = browserState.forgotPasswords;
  const router = Router({ caseSensitive: true, strict: true });

  router.get('/', (request, response) => {
    const texts = textsFor(request);
    const owner = forms.read('') ?? randomBytes(16).toString('base64url');
    forms.write('', owner, FORM_SECONDS);
    const content = html`<p class="lead">${texts.forgotLead}</p>
<form method="post" action="${FORGOT_PASSWORD_PATH}">
${csrfField(csrfTokens.issue(ownerOf(owner)))}
<input type="hidden" name="interaction" value="${interactionIn(request.query.interaction)}">
<label for="login">${texts.usernameOrEmail}</label>
<input id="login" name="login" type="text" autocomplete="username" autocapitalize="none" autocorrect="off" spellcheck="false" required maxlength="${String(MAXIMUM_LOGIN_CHARACTERS)}" autofocus>
<button class="primary" type="submit">${texts.sendLink}</button>
</form>`;
    sendPage(response, { texts, title: texts.forgotTitle, content });
  });

  router.post('/', limit, parseForm, async (request, response) => {
    const owner = forms.read('');
    if (owner === undefined || !csrfTokens.verify(ownerOf(owner), formField(request, 'csrf'))) {
      const message = hasCookies(request) ? 'formRefused' : 'cookiesBlocked';
      sendErrorPage(request, response, 403, message);
      return;
    }
    await mails.requestReset(formField(request, 'login'), request);
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

const ownerOf = (browser: string) => `forgot-password ${browser}`;
