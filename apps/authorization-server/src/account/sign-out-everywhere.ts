/** Sign-out everywhere: the page that asks, its form, and the page after it. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Identity, User } from '@gatehouse/identity';
import { html } from '@gatehouse/server';
import type { Router } from 'express';
import { noticePage } from '../pages/page.ts';
import { recordEvent } from '../requests/caller.ts';
import type { AccountDependencies } from './account.ts';

export function addSignOutEverywherePages(
  router: Router,
  { identity, sessions }: AccountDependencies,
): void {
  router.get(
    '/sign-out-everywhere',
    sessions.page(({ texts, csrf, send }) => {
      const content = html`<p class="lead">${texts.everywhereLead}</p>
<form method="post" action="/account/sign-out-everywhere">
${csrf}
<button class="danger" type="submit">${texts.signOutEverywhere}</button>
</form>`;
      send(texts.everywhereQuestion, content);
    }),
  );

  router.post(
    '/sign-out-everywhere',
    sessions.form(async ({ request, response, user: { userId }, session }) => {
      await endEverything(userId, identity);
      await sessions.end(request, response, session);
      recordEvent(request, { event: 'sign_out', userId, everywhere: true }, identity);
      response.redirect(303, '/account/signed-out');
    }),
  );

  const ended = { title: 'signedOutEverywhereTitle', text: 'signedOutEverywhere' } as const;
  router.get('/signed-out', noticePage(ended, { address: '/account', label: 'signInAgain' }));
}

/** Ends everything that was issued to a user: the not-before ends it at once on every server. */
export async function endEverything(
  userId: string,
  { revocations }: Identity,
  changes: Partial<Pick<User, 'passwordHash' | 'mustChangePassword'>> = {},
): Promise<User> {
  const user = await revocations.user(userId, changes);
  // Anything issued before that moment is invalid, so the reply waits: a sign-in right after it
  // must work.
  await sleep(Math.max(0, (user.notBefore + 1) * 1000 - Date.now()));
  return user;
}
