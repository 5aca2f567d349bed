/**
 * Second factors on the account page: the section, and the page that enrolls an app, turns it off
 * and gives new recovery codes. It needs a recent sign-in, with the second factor if there is one.
 */
import type { Identity, SecondFactorPolicy, User } from '@gatehouse/identity';
import type { Request, Response, Router } from 'express';
import { sendErrorPage } from '../pages/error-page.ts';
import { fill, type Html, html } from '../pages/html.ts';
import { dayOf } from '../pages/languages.ts';
import { csrfField, formField, linkButton, parseForm, sendPage, textsFor } from '../pages/page.ts';
import type { Texts } from '../pages/texts-en.ts';
import { policyAt } from '../provider/authentication-context.ts';
import { ACCOUNT_CLIENT_ID } from '../provider/clients.ts';
import { requestOrigin } from '../requests/caller.ts';
import type { AccountDependencies } from './account.ts';
import {
  enrollApp,
  enrollmentForm,
  type FailedEnrollment,
  recoveryCodeList,
} from './authenticator-app.ts';
import { FACTORS_PATH, type Handler, type SignedIn, strengthen } from './session.ts';

/** Undefined while operators allow no second factors. */
export async function factorsSection(
  user: User,
  texts: Texts,
  identity: Identity,
): Promise<Html | undefined> {
  if ((await policyAt(user, ACCOUNT_CLIENT_ID, identity)) === 'off') {
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

type Allowed = SignedIn & { readonly policy: SecondFactorPolicy; readonly texts: Texts };

export function addFactorPages(router: Router, pages: AccountDependencies): void {
  const { identity, sessions } = pages;
  const allowed =
    (handle: (request: Request, response: Response, signedIn: Allowed) => Promise<void>): Handler =>
    async (request, response, signedIn) => {
      const policy = await policyAt(signedIn.user, ACCOUNT_CLIENT_ID, identity);
      if (policy === 'off') {
        sendErrorPage(request, response, 404, 'notFound');
      } else {
        await handle(request, response, { ...signedIn, policy, texts: textsFor(request) });
      }
    };

  router.get(
    '/second-factor',
    sessions.page(
      allowed(async (request, response, signedIn) => {
        const state = await stateOf(signedIn.user, signedIn.texts, identity);
        if (state === undefined || request.query.app === 'new') {
          sendEnrollment(response, signedIn, pages);
        } else {
          sendState(response, signedIn, state);
        }
      }),
      'recentSignIn',
    ),
  );

  router.post(
    '/second-factor',
    parseForm,
    sessions.form(
      allowed(async (request, response, signedIn) => {
        const { user, policy, texts, session } = signedIn;
        const { userId } = user;
        const wanted = formField(request, 'change');
        const note = (change: 'factors_removed' | 'recovery_codes_renewed') =>
          identity.audit.record({ event: 'user_changed', userId, change }, requestOrigin(request));
        if (wanted === 'off' && policy !== 'required') {
          await identity.factors.remove(userId);
          note('factors_removed');
          response.redirect(303, '/account?done=factorsRemoved');
          return;
        }
        const { codes, pending } =
          wanted === 'codes'
            ? { codes: await identity.factors.renewRecoveryCodes(userId) }
            : await enrollApp(request, user, identity, { mayReplace: true });
        if (codes === undefined) {
          sendEnrollment(response.status(422), signedIn, pages, { pending });
          return;
        }
        if (wanted === 'codes') {
          note('recovery_codes_renewed');
        } else {
          await strengthen(session, ['otp'], identity);
        }
        const content = html`${recoveryCodeList(codes, texts)}
${linkButton('/account', texts.backToAccount)}`;
        sendPage(response, { texts, title: texts.recoveryTitle, content });
      }),
      'recentSignIn',
    ),
  );
}

function sendEnrollment(
  response: Response,
  signedIn: Allowed,
  { identity }: AccountDependencies,
  failed?: FailedEnrollment,
): void {
  const { texts, csrfToken } = signedIn;
  const form = { action: FACTORS_PATH, csrf: csrfField(csrfToken), failed };
  const content = html`${enrollmentForm(response.req, signedIn, identity, form)}
${linkButton('/account', texts.backToAccount)}`;
  sendPage(response, { texts, title: texts.enrollTitle, content });
}

function sendState(response: Response, { texts, csrfToken, policy }: Allowed, state: string): void {
  const button = (change: string, label: string) =>
    html`<button type="submit" name="change" value="${change}">${label}</button>`;
  const content = html`<p class="lead">${state}</p>
<form method="post" action="${FACTORS_PATH}">
${csrfField(csrfToken)}
${button('codes', texts.recoveryRenew)}
${policy === 'required' ? undefined : button('off', texts.factorTurnOff)}
</form>
${linkButton(`${FACTORS_PATH}?app=new`, texts.factorReplace)}
${linkButton('/account', texts.backToAccount)}`;
  sendPage(response, { texts, title: texts.factorTitle, content });
}
