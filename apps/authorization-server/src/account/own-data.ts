/**
 * The data of a user: their download, and the removal of the account. Operators allow both with
 * `selfService`.
 */

import { canonicalUsername, type Identity, type User } from '@gatehouse/identity';
import { foreignName, type Html, html, sentence } from '@gatehouse/server';
import type { Router } from 'express';
import { rejectForm } from '../pages/error-page.ts';
import { formField, noticePage, problemNotice } from '../pages/page.ts';
import type { Texts } from '../pages/texts-en.ts';
import { recordEvent } from '../requests/caller.ts';
import { listApplications } from './access.ts';
import type { AccountDependencies } from './account.ts';
import { type AccountPage, REMOVE_ACCOUNT_PATH, whileAllowed } from './session.ts';

const DOWNLOAD_PATH = '/account/data';

export function dataSection(texts: Texts): Html {
  return html`<section aria-labelledby="data">
<h2 id="data">${texts.dataTitle}</h2>
<p class="quiet">${texts.dataLead}</p>
<p class="actions"><a class="button" href="${DOWNLOAD_PATH}" download="account.json">${texts.dataDownload}</a> <a class="button" href="${REMOVE_ACCOUNT_PATH}">${texts.removeAccount}</a></p>
</section>`;
}

export function addDataPages(router: Router, pages: AccountDependencies): void {
  const { identity, sessions } = pages;
  const allowed = whileAllowed(async () => (await identity.settings.read()).selfService.data);

  router.get(
    '/data',
    sessions.page(
      allowed(async ({ response, user }) => {
        const data = await dataOf(user, identity);
        response.attachment('account.json').send(`${JSON.stringify(data, undefined, 2)}\n`);
      }),
    ),
  );

  router.get('/remove', sessions.page(allowed(sendQuestion), 'recentSignIn'));

  router.post(
    '/remove',
    sessions.form(
      allowed(async (page) => {
        const { request, response, user, session } = page;
        const typed = formField(request, 'username');
        if (canonicalUsername(typed) !== canonicalUsername(user.username)) {
          rejectForm(response, 'removalRefused');
          sendQuestion(page, typed);
          return;
        }
        await identity.removals.user(user, async (event) => recordEvent(request, event, identity));
        await sessions.end(request, response, session);
        response.redirect(303, '/account/removed');
      }),
      'recentSignIn',
    ),
  );

  const removed = { title: 'accountRemovedTitle', text: 'accountRemoved' } as const;
  router.get('/removed', noticePage(removed, { address: '/', label: 'startPage' }));
}

/** Everything about a user but secrets. Times are in epoch seconds. */
async function dataOf(user: User, identity: Identity) {
  const { passwordHash, bootstrapPasswordHash, ...profile } = user;
  const { userId, orgId } = user;
  const { upstreams } = await identity.settings.read();
  const sessions = await identity.userSessions.sessions(userId);
  const { passkeys, ...secondFactor } = await identity.factors.describe(userId);
  const linked = await identity.upstreamLinks.list(userId);
  return {
    profile,
    organization: await identity.organizations.find(orgId),
    secondFactor,
    passkeys: passkeys.map(({ id, publicKey, counter, ...passkey }) => passkey),
    otherAccounts: linked.map((id) => ({ provider: upstreams.get(id)?.name ?? id })),
    sessions: sessions.map(({ id, ...session }) => session),
    applications: await listApplications(userId, identity),
  };
}

/** @param typed a name that was not the right one */
function sendQuestion({ user, texts, csrf, send }: AccountPage, typed?: string): void {
  const username = html`<strong translate="no">${foreignName(user.username)}</strong>`;
  const invalid =
    typed === undefined ? undefined : html` aria-invalid="true" aria-describedby="problem"`;
  const content = html`<p class="warning">${texts.removeLead}</p>
<p class="lead">${sentence(texts.removeConfirm, { username })}</p>
${problemNotice(typed === undefined ? undefined : texts.removeProblem)}
<form method="post" action="${REMOVE_ACCOUNT_PATH}">
${csrf}
<label for="username">${texts.username}</label>
<input id="username" name="username" type="text" autocomplete="off" autocapitalize="none" autocorrect="off" spellcheck="false" required maxlength="128" value="${typed ?? ''}"${invalid} autofocus>
<button class="danger" type="submit">${texts.removeAccount}</button>
</form>`;
  send(texts.removeQuestion, content);
}
