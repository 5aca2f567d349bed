/**
 * The page behind the link of a registration or an invitation. The person who opens it has the
 * mailbox, and chooses the name and the password here. A password that was entered before could be
 * that of an attacker who registered the address of another person.
 */

import {
  type ActionLink,
  hashPassword,
  type Identity,
  newAccountSchema,
  RejectedChangeError,
} from '@gatehouse/identity';
import { foreignName, type Html, html, sentence } from '@gatehouse/server';
import type { Request, RequestHandler, Router } from 'express';
import { newPasswordFields, newPasswordProblem } from '../account/choose-password.ts';
import { rejectForm } from '../pages/error-page.ts';
import { formField, problemNotice, sendPage, textsFor } from '../pages/page.ts';
import { passwordScripts } from '../pages/password-field.ts';
import { recordEvent } from '../requests/caller.ts';
import { CREATE_ACCOUNT_PATH } from '../requests/routes.ts';
import { createLinkPage, type LinkExchange, tokenField } from './link-page.ts';

type Exchange = LinkExchange<ActionLink<'register' | 'invite'>>;

interface Problem {
  readonly field: 'name' | 'username' | 'wanted';
  readonly notice: string;
}

/** @param limit of the attempts with one link, so that nobody tests many usernames */
export function createAccountCreationRoutes(identity: Identity, limit: RequestHandler): Router {
  const { actionLinks } = identity;
  return createLinkPage<Exchange['found']>({
    path: CREATE_ACCOUNT_PATH,
    limits: [limit],
    find: async (token) =>
      (await actionLinks.find('invite', token)) ?? actionLinks.find('register', token),
    show: (exchange) => show(exchange, identity),
    async submit(exchange) {
      const problem = await findProblem(exchange, identity);
      if (problem !== undefined) {
        await show(exchange, identity, problem);
        return undefined;
      }
      const { request, found: link } = exchange;
      const passwordHash = await hashPassword(formField(request, 'wanted'));
      if ((await actionLinks.take(link.kind, exchange.token)) === undefined) {
        return 'invalid';
      }
      if (await create(request, { ...link, passwordHash }, identity)) {
        return 'done';
      }
      // Another person took the username or the address in the meantime.
      const token = await actionLinks.issue(link);
      if (token === undefined) {
        return 'invalid';
      }
      const notice = textsFor(request).accountProblems.taken;
      await show({ ...exchange, token }, identity, { field: 'username', notice });
      return undefined;
    },
    done: { title: 'accountCreatedTitle', text: 'accountCreated' },
  });
}

const typedIn = (request: Request) => ({
  username: formField(request, 'username'),
  name: formField(request, 'name'),
});

async function findProblem(exchange: Exchange, { users }: Identity): Promise<Problem | undefined> {
  const { accountProblems, passwordProblems } = textsFor(exchange.request);
  const typed = typedIn(exchange.request);
  const [issue] = newAccountSchema.safeParse(typed).error?.issues ?? [];
  if (issue !== undefined) {
    const field = issue.path[0] === 'name' ? 'name' : 'username';
    return { field, notice: accountProblems[field] };
  }
  if ((await users.findByUsername(typed.username)) !== undefined) {
    return { field: 'username', notice: accountProblems.taken };
  }
  const problem = await newPasswordProblem(exchange, typed);
  return problem && { field: 'wanted', notice: passwordProblems[problem] };
}

/** @returns false if another user has the username or the address */
async function create(
  request: Request,
  { orgId, email, passwordHash }: Exchange['found'] & { readonly passwordHash: string },
  identity: Identity,
): Promise<boolean> {
  const locale = textsFor(request).language;
  const member = { orgId, email, emailVerified: true, roles: [], passwordHash, locale };
  try {
    const { userId } = await identity.users.add({ ...typedIn(request), ...member });
    recordEvent(request, { event: 'user_changed', userId, change: 'added' }, identity);
    return true;
  } catch (error) {
    if (error instanceof RejectedChangeError) {
      return false;
    }
    throw error;
  }
}

async function show(
  { request, response, token, found: { orgId, email } }: Exchange,
  { organizations }: Identity,
  problem?: Problem,
): Promise<void> {
  if (problem !== undefined) {
    rejectForm(response, 'accountRefused');
  }
  const texts = textsFor(request);
  const { username, name } = typedIn(request);
  const { name: organization = orgId } = (await organizations.find(orgId)) ?? {};
  const values = {
    email: html`<strong>${email}</strong>`,
    organization: foreignName(organization),
  };
  const focus = problem?.field ?? 'name';
  const mark = (field: Problem['field']): Html => {
    const invalid = html` aria-invalid="true" aria-describedby="problem"`;
    return html`${problem?.field === field ? invalid : undefined}${focus === field ? html` autofocus` : undefined}`;
  };
  const content = html`<p class="lead">${sentence(texts.createAccountLead, values)}</p>
${problemNotice(problem?.notice)}
<form method="post" action="${CREATE_ACCOUNT_PATH}">
${tokenField(token)}
<label for="name">${texts.accountName}</label>
<input id="name" name="name" type="text" autocomplete="name" required maxlength="200" value="${name}"${mark('name')}>
<label for="username">${texts.username}</label>
<input id="username" name="username" type="text" autocomplete="username" autocapitalize="none" autocorrect="off" spellcheck="false" required maxlength="128" value="${username}"${mark('username')}>
${newPasswordFields(texts, { isWrong: focus === 'wanted' })}
<button class="primary" type="submit">${texts.createAccountButton}</button>
</form>`;
  sendPage(response, {
    ...{ texts, title: texts.createAccountTitle, content, scripts: passwordScripts },
  });
}
