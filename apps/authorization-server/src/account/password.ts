/**
 * The page that changes the password. Guesses of the current password count as sign-in attempts, so
 * an open session gives an attacker no additional ones. This browser stays signed in with a
 * new session id. Everything else that was issued before ends.
 */
import { passwordProblem, type User } from '@gatehouse/identity';
import type { Request, Router } from 'express';
import { formProblems, noteFailure } from '../pages/error-page.ts';
import { type Html, html } from '../pages/html.ts';
import { formField, problemNotice } from '../pages/page.ts';
import { passwordField, passwordScripts } from '../pages/password-field.ts';
import type { KnownDevice } from '../throttle/sign-in-throttle.ts';
import type { AccountDependencies } from './account.ts';
import { type PasswordProblem, setPassword } from './choose-password.ts';
import type { AccountPage } from './session.ts';

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
      const device = await deviceCookies.read(request, response);
      const outcome = await changePassword(user, { request, device }, pages);
      if (typeof outcome === 'string') {
        noteFailure(request, 'passwordRefused', formProblems.passwordRefused);
        response.status(422);
        sendForm(page, outcome);
        return;
      }
      deviceCookies.issue(request, response, outcome);
      await sessions.renew(request, response, outcome, session);
      page.finish('password');
    }),
  );
}

/**
 * The changed user, or the problem.
 *
 * @throws TryLaterError, PasswordHashingBusyError as a sign-in does
 */
async function changePassword(
  user: User,
  origin: { readonly request: Request; readonly device: KnownDevice | undefined },
  pages: AccountDependencies,
): Promise<User | PasswordProblem> {
  const current = formField(origin.request, 'current');
  const wanted = formField(origin.request, 'wanted');
  if (wanted !== formField(origin.request, 'repeated')) {
    return 'differs';
  }
  const problem = passwordProblem(wanted, user);
  if (problem !== undefined) {
    return problem;
  }
  const verified = await pages.signIn({
    method: 'account_page',
    username: user.username,
    password: current,
    ...origin,
  });
  if (verified?.userId !== user.userId) {
    return 'wrong';
  }
  if (current === wanted) {
    return 'same';
  }
  return setPassword(origin.request, user, pages);
}

/** After a problem, the fields that are not wrong keep what the user typed. It is not stored. */
function sendForm(page: AccountPage, problem?: PasswordProblem): void {
  const { request, user, texts, csrf } = page;
  const isCurrentWrong = problem === 'wrong';
  const isWantedWrong = problem !== undefined && !isCurrentWrong;
  const current = isWantedWrong ? formField(request, 'current') : '';
  const wanted = isCurrentWrong ? formField(request, 'wanted') : '';
  const invalid = html` aria-invalid="true"`;
  const focus = html` autofocus`;
  const field = (id: string, label: string, attributes: Html) =>
    passwordField(texts, { id, label, attributes });
  const content = html`<p class="lead">${texts.passwordLead}</p>
${problemNotice(problem && texts.passwordProblems[problem])}
<form method="post" action="/account/password">
${csrf}
<input class="for-password-managers" type="text" name="username" autocomplete="username" value="${user.username}" readonly tabindex="-1" aria-hidden="true">
${field('current', texts.currentPassword, html` autocomplete="current-password" value="${current}"${isCurrentWrong ? html`${invalid} aria-describedby="problem"` : undefined}${isWantedWrong ? undefined : focus}`)}
${field('wanted', texts.newPassword, html` autocomplete="new-password" minlength="8" value="${wanted}" aria-describedby="${isWantedWrong ? 'problem hint' : 'hint'}"${isWantedWrong ? html`${invalid}${focus}` : undefined}`)}
<p class="hint" id="hint">${texts.newPasswordHint}</p>
${field('repeated', texts.repeatPassword, html` autocomplete="new-password" minlength="8" value="${wanted}"${isWantedWrong ? invalid : undefined}`)}
<button class="primary" type="submit">${texts.changePassword}</button>
</form>`;
  page.send(texts.changePassword, content, { scripts: passwordScripts });
}
