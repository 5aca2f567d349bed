/**
 * Second factors on the account page: the section, and the page that enrolls an app, turns it off
 * and gives new recovery codes. It needs a recent sign-in, with the second factor if there is one.
 */

import type { Identity, User } from '@gatehouse/identity';
import { fill, type Html, html } from '@gatehouse/server';
import type { Router } from 'express';
import { recordChange } from '../mail/compose.ts';
import { dayOf } from '../pages/languages.ts';
import { formField, linkButton } from '../pages/page.ts';
import type { Texts } from '../pages/texts-en.ts';
import { atAccount, mayUseFactors, policyAt } from '../provider/authentication-context.ts';
import type { AccountDependencies } from './account.ts';
import { appForm, enroll, type FailedEnrollment, recoveryCodeList } from './enrollment.ts';
import {
  type AccountPage,
  FACTORS_PATH,
  PASSKEYS_PATH,
  strengthen,
  whileAllowed,
} from './session.ts';

/** Undefined while operators allow no second factors. */
export async function factorsSection(
  { user, texts }: AccountPage,
  identity: Identity,
): Promise<Html | undefined> {
  if (!(await mayUseFactors(user, identity))) {
    return undefined;
  }
  const state = await stateOf(user, texts, identity);
  return html`<section aria-labelledby="second-factor">
<h2 id="second-factor">${texts.factorTitle}</h2>
<p class="quiet">${state ?? texts.factorLead}</p>
${linkButton(FACTORS_PATH, state === undefined ? texts.factorTurnOn : texts.factorManage)}
</section>`;
}

/** Since when the app is used. Undefined without one. */
async function stateOf({ userId }: User, texts: Texts, { factors }: Identity) {
  const { app } = await factors.describe(userId);
  return (
    app &&
    fill(texts.factorState, {
      since: dayOf(app.enrolledAt, texts),
      used: dayOf(app.lastUsedAt, texts),
    })
  );
}

export function addFactorPages(router: Router, pages: AccountDependencies): void {
  const { identity, sessions } = pages;
  const allowed = whileAllowed(({ user }) => mayUseFactors(user, identity));
  const isRequired = async ({ user }: AccountPage) =>
    (await policyAt(user, atAccount, identity)) === 'required';

  async function show(page: AccountPage, failed?: FailedEnrollment): Promise<void> {
    const { request, user, texts, csrf, send } = page;
    const state = await stateOf(user, texts, identity);
    if (state === undefined || failed !== undefined || request.query.app === 'new') {
      const form = { action: FACTORS_PATH, failed };
      send(texts.enrollTitle, appForm(request, page, identity, form));
      return;
    }
    const off = html`<form class="actions" method="post" action="${FACTORS_PATH}">
${csrf}
<button type="submit" name="change" value="off">${texts.factorTurnOff}</button>
</form>`;
    const content = html`<p class="lead">${state}</p>
${await recoverySection(page, identity)}
${(await isRequired(page)) ? undefined : off}
${linkButton(`${FACTORS_PATH}?app=new`, texts.factorReplace)}`;
    send(texts.factorTitle, content);
  }

  router.get(
    '/second-factor',
    sessions.page(
      allowed((page) => show(page)),
      'recentSignIn',
    ),
  );

  router.post(
    '/second-factor',
    sessions.form(
      allowed(async (page) => {
        const { request, user, texts } = page;
        const { userId } = user;
        const wanted = formField(request, 'change');
        const codes =
          wanted === 'codes' ? await identity.factors.renewRecoveryCodes(userId) : undefined;
        if (codes !== undefined) {
          await recordChange(request, user, 'recovery_codes_renewed', pages);
          page.send(texts.recoveryTitle, recoveryCodeList(codes, texts));
        } else if (wanted === 'off' && !(await isRequired(page))) {
          await identity.factors.removeApp(userId);
          await recordChange(request, user, 'factors_removed', pages);
          page.finish('factorsRemoved');
        } else {
          await submitEnrollment(page, pages, (failed) => show(page, failed));
        }
      }),
      'recentSignIn',
    ),
  );
}

/** How many recovery codes are left, and the button for new ones. */
export async function recoverySection(
  { user, texts, csrf }: AccountPage,
  { factors }: Identity,
): Promise<Html> {
  const { recoveryCodes } = await factors.describe(user.userId);
  return html`<form class="actions" method="post" action="${FACTORS_PATH}">
${csrf}
<p>${fill(texts.recoveryLeft, { codes: String(recoveryCodes) })}</p>
<button type="submit" name="change" value="codes">${texts.recoveryRenew}</button>
</form>`;
}

/** Of passkeys on the account page. */
export const ceremonyOf = ({ session }: AccountPage) => ({
  path: PASSKEYS_PATH,
  owner: session.uid,
});

/** Handles the form of an app or a passkey. */
export async function submitEnrollment(
  page: AccountPage,
  pages: AccountDependencies,
  show: (failed: FailedEnrollment) => Promise<void>,
): Promise<void> {
  const { request, response, user, texts, session } = page;
  const place = { user, ceremony: ceremonyOf(page), isFirst: false };
  const result = await enroll(request, place, pages);
  if ('problem' in result) {
    response.status(422);
    await show(result);
    return;
  }
  await strengthen(session, result.amr, pages.identity);
  if (result.codes === undefined) {
    page.finish('passkeyAdded');
  } else {
    page.send(texts.recoveryTitle, recoveryCodeList(result.codes, texts));
  }
}
