/**
 * How people without an account, or without its password, leave the sign-in page. Registration asks
 * only for an address, and its reply is the same for every address. The rest follows the link in the
 * mail (signed-out/create-account.ts).
 */
import { isDomainAllowed, type OpenRegistration } from '@gatehouse/identity';
import type { Router } from 'express';
import { z } from 'zod';
import { formProblems, noteFailure, sendErrorPage } from '../pages/error-page.ts';
import { fill, type Html, html } from '../pages/html.ts';
import { formField, parseForm, problemNotice } from '../pages/page.ts';
import { FORGOT_PASSWORD_PATH } from '../requests/routes.ts';
import { mailSentContent } from '../signed-out/forgot-password.ts';
import {
  type InteractionPage,
  interactionForm,
  openPage,
  type SignInDependencies,
} from './interaction.ts';

const NAME = 'create-account';

/** The links below the form of the sign-in page. */
export async function accountLinks(
  { interaction, client, texts }: InteractionPage,
  dependencies: SignInDependencies,
): Promise<Html | undefined> {
  if (dependencies.mails === undefined) {
    return undefined;
  }
  const { uid } = interaction;
  const isOpen = (await registrationAt(client?.orgId, dependencies)) !== undefined;
  const create = html` <a href="/sign-in/${uid}/${NAME}">${texts.createAccount}</a>`;
  return html`<p class="actions"><a href="${FORGOT_PASSWORD_PATH}?interaction=${uid}">${texts.forgotPassword}</a>${isOpen ? create : undefined}</p>`;
}

export function addRegistration(router: Router, dependencies: SignInDependencies): void {
  const { mails, limits } = dependencies;
  if (mails === undefined) {
    return;
  }

  router.get(`/:interaction/${NAME}`, async (request, response) => {
    const page = await openPage({ request, response, dependencies });
    if ((await registrationAt(page.client?.orgId, dependencies)) === undefined) {
      sendErrorPage(request, response, 404, 'notFound');
    } else {
      show(page);
    }
  });

  router.post(
    `/:interaction/${NAME}`,
    limits.mails,
    parseForm,
    interactionForm(dependencies, async (exchange) => {
      const { request, response, interaction } = exchange;
      const page = await openPage(exchange);
      const { orgId = '' } = page.client ?? {};
      const open = await registrationAt(orgId, dependencies);
      const email = formField(request, 'email').trim();
      if (open === undefined) {
        sendErrorPage(request, response, 404, 'notFound');
      } else if (!z.email().max(254).safeParse(email).success || !isDomainAllowed(open, email)) {
        noteFailure(request, 'accountRefused', formProblems.accountRefused);
        response.status(422);
        show(page, { email, open });
      } else {
        await mails.requestRegistration({ orgId, email }, request, page.texts);
        response.redirect(303, `/sign-in/${interaction.uid}/${NAME}/sent`);
      }
    }),
  );

  router.get(`/:interaction/${NAME}/sent`, async (request, response) => {
    const page = await openPage({ request, response, dependencies });
    const { texts, interaction } = page;
    page.send(texts.mailSentTitle, mailSentContent(texts, texts.registerSent, interaction.uid));
  });
}

/** Undefined if nobody can register for this organization. */
async function registrationAt(
  orgId: string | undefined,
  { identity }: SignInDependencies,
): Promise<OpenRegistration | undefined> {
  return orgId === undefined ? undefined : (await identity.settings.read()).registrationOf(orgId);
}

function show(
  page: InteractionPage,
  failed?: { readonly email: string; readonly open: OpenRegistration },
): void {
  const { texts, interaction } = page;
  const domains = failed?.open.emailDomains;
  const problem =
    domains === undefined
      ? texts.addressInvalid
      : fill(texts.addressDomains, { domains: domains.join(', ') });
  const invalid = failed && html` aria-invalid="true" aria-describedby="problem"`;
  const content = html`<p class="lead">${texts.registerLead}</p>
${problemNotice(failed && problem)}
<form method="post" action="/sign-in/${interaction.uid}/${NAME}">
${page.csrf}
<label for="email">${texts.accountEmail}</label>
<input id="email" name="email" type="email" autocomplete="email" required maxlength="254" value="${failed?.email ?? ''}"${invalid} autofocus>
<button class="primary" type="submit">${texts.sendLink}</button>
</form>`;
  page.send(texts.createAccountTitle, content);
}
