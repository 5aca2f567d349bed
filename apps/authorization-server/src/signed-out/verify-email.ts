/** The page behind a link that shows that an address belongs to a user. */
import { foreignName, html, sentence } from '@gatehouse/server';
import type { Router } from 'express';
import { type ChangeDependencies, recordChange } from '../mail/compose.ts';
import { sendPage, textsFor } from '../pages/page.ts';
import { VERIFY_EMAIL_PATH } from '../requests/routes.ts';
import { createLinkPage, tokenField } from './link-page.ts';

export function createVerifyEmailRoutes(dependencies: ChangeDependencies): Router {
  const { actionLinks, users } = dependencies.identity;
  return createLinkPage({
    path: VERIFY_EMAIL_PATH,
    async find(token) {
      const link = await actionLinks.find('verify', token);
      const user = link && (await users.find(link.userId));
      return user && { ...user, email: link.email, before: user };
    },
    show({ request, response, token, found }) {
      const texts = textsFor(request);
      const email = html`<strong>${found.email}</strong>`;
      // The owner of the address must not give it to the account of another person.
      const username = html`<span translate="no">${foreignName(found.username)}</span>`;
      const content = html`<p class="lead">${sentence(texts.verifyLead, { email })}</p>
<dl class="facts"><div><dt>${texts.username}</dt><dd>${username}</dd></div></dl>
<form method="post" action="${VERIFY_EMAIL_PATH}">
${tokenField(token)}
<button class="primary" type="submit">${texts.confirmAddress}</button>
</form>`;
      sendPage(response, { texts, title: texts.verifyTitle, content });
    },
    async submit({ request, token, found: { userId, email, before } }) {
      if ((await actionLinks.take('verify', token)) === undefined) {
        return 'invalid';
      }
      await users.update(userId, (user) => ({ ...user, email, emailVerified: true }));
      await recordChange(request, before, 'email_verified', dependencies);
      return 'done';
    },
    done: { title: 'verifyDoneTitle', text: 'verifyDone' },
  });
}
