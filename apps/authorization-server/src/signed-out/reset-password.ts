/** The page behind a link that lets its holder choose a password. */

import type { User } from '@gatehouse/identity';
import { html } from '@gatehouse/server';
import type { Router } from 'express';
import {
  newPasswordForm,
  newPasswordProblem,
  type PasswordProblem,
  setPassword,
} from '../account/choose-password.ts';
import type { ChangeDependencies } from '../mail/compose.ts';
import { sendPage, textsFor } from '../pages/page.ts';
import { passwordScripts } from '../pages/password-field.ts';
import { RESET_PASSWORD_PATH } from '../requests/routes.ts';
import { createLinkPage, type LinkExchange, tokenField } from './link-page.ts';

export function createResetRoutes(dependencies: ChangeDependencies): Router {
  const { actionLinks, users } = dependencies.identity;
  return createLinkPage<User>({
    path: RESET_PASSWORD_PATH,
    async find(token) {
      const link = await actionLinks.find('reset', token);
      return link && users.find(link.userId);
    },
    show,
    async submit(exchange) {
      const { request, token, found: user } = exchange;
      const problem = await newPasswordProblem(exchange, user);
      if (problem !== undefined) {
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
  const content = html`<p class="lead">${texts.resetLead}</p>
${newPasswordForm(texts, RESET_PASSWORD_PATH, tokenField(token), { username, problem })}`;
  sendPage(response, { texts, title: texts.resetTitle, content, scripts: passwordScripts });
}
