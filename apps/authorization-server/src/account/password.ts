/**
 * The page that changes the password. Guesses of the current password count as sign-in attempts, so
 * an open session gives an attacker no additional ones. This browser stays signed in with a
 * new session id. Everything else that was issued before ends.
 */
import { html } from '@gatehouse/server';
import type { Router } from 'express';
import { rejectForm } from '../pages/error-page.ts';
import { formField, problemNotice } from '../pages/page.ts';
import { passwordField, passwordScripts } from '../pages/password-field.ts';
import type { AccountDependencies } from './account.ts';
import {
  newPasswordFields,
  newPasswordProblem,
  type PasswordProblem,
  setPassword,
  usernameForManagers,
} from './choose-password.ts';
import { type AccountPage, CHANGE_PASSWORD_PATH } from './session.ts';

export function addPasswordPage(router: Router, pages: AccountDependencies): void {
  const { sessions, deviceCookies } = pages;

  router.get(
    '/password',
    sessions.page((page) => sendForm(page)),
  );

  router.post(
    '/password',
    sessions.form(async (page) => {
      const { request, response, user, session } = page;
      const problem = await findProblem(page, pages);
      if (problem !== undefined) {
        sendForm(page, problem);
        return;
      }
      const changed = await setPassword(request, user, pages);
      deviceCookies.issue(request, response, changed);
      await sessions.renew(request, response, changed, session);
      page.finish('password');
    }),
  );
}

/** @throws TryLaterError, PasswordHashingBusyError as a sign-in does */
async function findProblem(
  page: AccountPage,
  { signIn, deviceCookies }: AccountDependencies,
): Promise<PasswordProblem | undefined> {
  const { request, response } = page;
  const { userId, username } = page.user;
  // Only the rules: whether it is the current password is told to those who know that one.
  const problem = await newPasswordProblem(page, { username });
  if (problem !== undefined) {
    return problem;
  }
  const password = formField(request, 'current');
  const device = await deviceCookies.read(request, response);
  const verified = await signIn({ method: 'account_page', username, password, request, device });
  const isVerified = verified?.userId === userId;
  if (isVerified && password !== formField(request, 'wanted')) {
    return undefined;
  }
  rejectForm(response, 'passwordRefused');
  return isVerified ? 'same' : 'wrong';
}

/** After a problem, the fields that are not wrong keep what the user typed. It is not stored. */
function sendForm(page: AccountPage, problem?: PasswordProblem): void {
  const { request, user, texts, csrf } = page;
  const isCurrentWrong = problem === 'wrong';
  const isWrong = problem !== undefined && !isCurrentWrong;
  const typed = isCurrentWrong ? formField(request, 'wanted') : '';
  const invalid = html` aria-invalid="true" aria-describedby="problem"`;
  const attributes = html` autocomplete="current-password" value="${isWrong ? formField(request, 'current') : ''}"${isCurrentWrong ? invalid : undefined}${isWrong ? undefined : html` autofocus`}`;
  const content = html`<p class="lead">${texts.passwordLead}</p>
${problemNotice(problem && texts.passwordProblems[problem])}
<form method="post" action="${CHANGE_PASSWORD_PATH}">
${csrf}
${usernameForManagers(user.username)}
${passwordField(texts, { id: 'current', label: texts.currentPassword, attributes })}
${newPasswordFields(texts, { isWrong, typed })}
<button class="primary" type="submit">${texts.changePassword}</button>
</form>`;
  page.send(texts.changePassword, content, { scripts: passwordScripts });
}
