/**
 * How people without an account, or without its password, leave the sign-in page. Registration asks
 * only for an address, and its reply is the same for every address. The rest follows the link in the
 * mail (signed-out/create-account.ts).
 */

import { isDomainAllowed, type OpenRegistration } from '@gatehouse/identity';
import { fill, type Html, html } from '@gatehouse/server';
import type { Request, Response, Router } from 'express';
import { z } from 'zod';
import { mailOrigin } from '../mail/compose.ts';
import { rejectForm, sendErrorPage } from '../pages/error-page.ts';
import { listOf } from '../pages/languages.ts';
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
  { interaction: { uid }, client, texts }: InteractionPage,
  { identity, mails }: SignInDependencies,
): Promise<Html | undefined> {
  const open = (await identity.settings.read()).registrationOf(client?.orgId ?? '');
  const create = html` <a href="/sign-in/${uid}/${NAME}">${texts.createAccount}</a>`;
  return (
    mails &&
    html`<p class="actions"><a href="${FORGOT_PASSWORD_PATH}?interaction=${uid}">${texts.forgotPassword}</a>${open && create}</p>`
  );
}

export function addRegistration(router: Router, dependencies: SignInDependencies): void {
  const { identity, mails, limits } = dependencies;
  if (mails === undefined) {
    return;
  }

  /** Undefined after a reply: nobody can register for the organization of the client. */
  async function openForm(request: Request, response: Response) {
    const page = await openPage({ request, response, dependencies });
    const { orgId = '' } = page.client ?? {};
    const open = (await identity.settings.read()).registrationOf(orgId);
    if (open === undefined) {
      sendErrorPage(request, response, 404, 'notFound');
    }
    return open && { page, orgId, open };
  }

  router.get(`/:interaction/${NAME}`, async (request, response) => {
    const form = await openForm(request, response);
    if (form !== undefined) {
      show(form.page);
    }
  });

  router.post(
    `/:interaction/${NAME}`,
    limits.mails,
    parseForm,
    interactionForm(dependencies, async ({ request, response, interaction }) => {
      const form = await openForm(request, response);
      if (form === undefined) {
        return;
      }
      const { page, orgId, open } = form;
      const email = formField(request, 'email').trim();
      if (!z.email().max(254).safeParse(email).success || !isDomainAllowed(open, email)) {
        rejectForm(response, 'accountRefused');
        show(page, { email, open });
        return;
      }
      const wanted = { kind: 'register', orgId, email } as const;
      await mails.add(orgId, { ...wanted, ...mailOrigin(request, page.texts) });
      response.redirect(303, `/sign-in/${interaction.uid}/${NAME}/sent`);
    }),
  );

  router.get(`/:interaction/${NAME}/sent`, async (request, response) => {
    const { texts, interaction, send } = await openPage({ request, response, dependencies });
    send(texts.mailSentTitle, mailSentContent(texts, texts.registerSent, interaction.uid));
  });
}

function show(
  { texts, interaction, csrf, send }: InteractionPage,
  failed?: { readonly email: string; readonly open: OpenRegistration },
): void {
  const domains = failed?.open.emailDomains;
  const problem = domains
    ? fill(texts.addressDomains, { domains: listOf(domains, texts, 'disjunction') })
    : texts.addressInvalid;
  const invalid = failed && html` aria-invalid="true" aria-describedby="problem"`;
  const content = html`<p class="lead">${texts.registerLead}</p>
${problemNotice(failed && problem)}
<form method="post" action="/sign-in/${interaction.uid}/${NAME}">
${csrf}
<label for="email">${texts.accountEmail}</label>
<input id="email" name="email" type="email" autocomplete="email" required maxlength="254" value="${failed?.email ?? ''}"${invalid} autofocus>
<button class="primary" type="submit">${texts.sendLink}</button>
</form>`;
  send(texts.createAccountTitle, content);
}
