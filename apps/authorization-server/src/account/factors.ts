/**
 * Second factors on the account page: the section, and the page that enrolls an app, turns it off
 * and gives new recovery codes. It needs a recent sign-in, with the second factor if there is one.
 */
import type { Identity, User } from '@gatehouse/identity';
import type { Router } from 'express';
import { fill, type Html, html } from '../pages/html.ts';
import { dayOf } from '../pages/languages.ts';
import { formField, linkButton } from '../pages/page.ts';
import type { Texts } from '../pages/texts-en.ts';
import { atAccount, mayUseFactors, policyAt } from '../provider/authentication-context.ts';
import type { AccountDependencies } from './account.ts';
import {
  enrollApp,
  enrollmentForm,
  type FailedEnrollment,
  recoveryCodeList,
} from './authenticator-app.ts';
import { type AccountPage, FACTORS_PATH, strengthen, whileAllowed } from './session.ts';

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

/** Since when the factor is used. Undefined without one. */
async function stateOf({ userId }: User, texts: Texts, { factors }: Identity) {
  const found = await factors.describe(userId);
  return (
    found &&
    fill(texts.factorState, {
      since: dayOf(found.enrolledAt, texts),
      used: dayOf(found.lastUsedAt, texts),
      codes: String(found.recoveryCodes),
    })
  );
}

export function addFactorPages(router: Router, { identity, sessions }: AccountDependencies): void {
  const allowed = whileAllowed(({ user }) => mayUseFactors(user, identity));
  const isRequired = async ({ user }: AccountPage) =>
    (await policyAt(user, atAccount, identity)) === 'required';

  router.get(
    '/second-factor',
    sessions.page(
      allowed(async (page) => {
        const state = await stateOf(page.user, page.texts, identity);
        if (state === undefined || page.request.query.app === 'new') {
          sendEnrollment(page, identity);
        } else {
          sendState(page, state, await isRequired(page));
        }
      }),
      'recentSignIn',
    ),
  );

  router.post(
    '/second-factor',
    sessions.form(
      allowed(async (page) => {
        const { request, response, user, texts, session } = page;
        const { userId } = user;
        const wanted = formField(request, 'change');
        if (wanted === 'off' && !(await isRequired(page))) {
          await identity.factors.remove(userId);
          page.record('factors_removed');
          page.finish('factorsRemoved');
          return;
        }
        const { codes, pending } =
          wanted === 'codes'
            ? { codes: await identity.factors.renewRecoveryCodes(userId) }
            : await enrollApp(request, user, identity, { mayReplace: true });
        if (codes === undefined) {
          response.status(422);
          sendEnrollment(page, identity, { pending });
          return;
        }
        if (wanted === 'codes') {
          page.record('recovery_codes_renewed');
        } else {
          await strengthen(session, ['otp'], identity);
        }
        page.send(texts.recoveryTitle, recoveryCodeList(codes, texts));
      }),
      'recentSignIn',
    ),
  );
}

function sendEnrollment(page: AccountPage, identity: Identity, failed?: FailedEnrollment): void {
  const { request, texts, csrf, send } = page;
  const form = { action: FACTORS_PATH, csrf, failed };
  send(texts.enrollTitle, enrollmentForm(request, page, identity, form));
}

function sendState({ texts, csrf, send }: AccountPage, state: string, isRequired: boolean): void {
  const button = (change: string, label: string) =>
    html`<button type="submit" name="change" value="${change}">${label}</button>`;
  const content = html`<p class="lead">${state}</p>
<form method="post" action="${FACTORS_PATH}">
${csrf}
${button('codes', texts.recoveryRenew)}
${isRequired ? undefined : button('off', texts.factorTurnOff)}
</form>
${linkButton(`${FACTORS_PATH}?app=new`, texts.factorReplace)}`;
  send(texts.factorTitle, content);
}
