/** The page behind a link that lets its holder choose a password. */
import type { User } from '@gatehouse/identity';
import type { Router } from 'express';
import type { AccountDependencies } from '../account/account.ts';
import {
  newPasswordFields,
  newPasswordProblem,
  type PasswordProblem,
  setPassword,
} from '../account/choose-password.ts';
import { html } from '../pages/html.ts';
import { problemNotice, sendPage, textsFor } from '../pages/page.ts';
import { passwordScripts } from '../pages/password-field.ts';
import { RESET_PASSWORD_PATH } from '../requests/routes.ts';
import { createLinkPage, type LinkExchange, linkForm } from './link-page.ts';

export function createResetRoutes(dependencies: Pick<AccountDependencies, 'identity'>): Router {
  const { actionLinks, users } = dependencies.identity;
  return createLinkPage<User>({
    path: RESET_PASSWORD_PATH,
    async find(token) {
      const link = await actionLinks.find('reset', token);
      return link && users.find(link.userId);
    },
    show: (exchange) => show(exchange),
    async submit(exchange) {
      const { request, response, token, found: user } = exchange;
      const problem = await newPasswordProblem(request, user);
      if (problem !== undefined) {
        response.status(422);
        show(exchange, problem);
        return undefined;
      }
      if ((await actionLinks.take('reset', token)) === undefined) {
        return 'invalid';
      }
      await setPassword(request, user, dependencies);
      return 'done';
    },
    done: { title: 'resetDoneTitle', text: 'resetDone' },
  });
}

function show(
  { request, response, token, found: { username } }: LinkExchange<User>,
  problem?: PasswordProblem,
): void {
  const texts = textsFor(request);
  const fields = html`${newPasswordFields(texts, { username, problem })}
<button class="primary" type="submit">${texts.setPassword}</button>`;
  const content = html`<p class="lead">${texts.resetLead}</p>
${problemNotice(problem && texts.passwordProblems[problem])}
${linkForm(RESET_PASSWORD_PATH, token, fields)}`;
  sendPage(response, { texts, title: texts.resetTitle, content, scripts: passwordScripts });
}
