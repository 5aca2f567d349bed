/** The page behind a link that shows that an address belongs to a user. */
import type { Identity } from '@gatehouse/identity';
import { type Request, type Response, Router } from 'express';
import { rejectMethods, sendErrorPage } from '../pages/error-page.ts';
import { foreignName, html, sentence } from '../pages/html.ts';
import { formField, linkButton, parseForm, sendPage, textsFor } from '../pages/page.ts';
import { requestOrigin } from '../requests/caller.ts';
import { contextOf } from '../requests/request-context.ts';

export const VERIFY_EMAIL_PATH = '/verify-email';

export function createVerifyEmailRoutes({ identity }: { readonly identity: Identity }): Router {
  const { actionLinks, users, audit } = identity;
  const router = Router({ caseSensitive: true, strict: true });
  const rejectLink = (request: Request, response: Response) =>
    sendErrorPage(request, response, 400, 'linkInvalid');

  router.get('/', async (request, response) => {
    const token = String(request.query.token ?? '');
    const link = await actionLinks.find('verify', token);
    if (link === undefined) {
      rejectLink(request, response);
      return;
    }
    const user = await users.find(link.userId);
    contextOf(request).orgId = user?.orgId ?? '';
    const texts = textsFor(request);
    const email = html`<strong>${link.email}</strong>`;
    // The owner of the address must not give it to the account of another person.
    const username = html`<span translate="no">${foreignName(user?.username ?? '')}</span>`;
    const content = html`<p class="lead">${sentence(texts.verifyLead, { email })}</p>
<dl class="facts"><div><dt>${texts.username}</dt><dd>${username}</dd></div></dl>
<form method="post" action="${VERIFY_EMAIL_PATH}">
<input type="hidden" name="token" value="${token}">
<button class="primary" type="submit">${texts.confirmAddress}</button>
</form>`;
    sendPage(response, { texts, title: texts.verifyTitle, content });
  });

  router.post('/', parseForm, async (request, response) => {
    const token = formField(request, 'token');
    const { email = '', userId } = (await actionLinks.find('verify', token)) ?? {};
    // An address that another user verified before stays with that user.
    const holder = await users.findByEmail(email);
    const isFree = holder === undefined || holder.userId === userId;
    const link = isFree ? await actionLinks.take('verify', token) : undefined;
    if (link === undefined) {
      rejectLink(request, response);
      return;
    }
    await users.update(link.userId, (user) => ({ ...user, email, emailVerified: true }));
    const event = { event: 'user_changed', userId: link.userId, change: 'email_verified' } as const;
    audit.record(event, requestOrigin(request));
    response.redirect(303, `${VERIFY_EMAIL_PATH}/done`);
  });

  router.get('/done', (request, response) => {
    const texts = textsFor(request);
    const content = html`<p>${texts.verifyDone}</p>
${linkButton('/account', texts.openAccount)}`;
    sendPage(response, { texts, title: texts.verifyDoneTitle, content });
  });

  router.use(rejectMethods(router));
  return router;
}
