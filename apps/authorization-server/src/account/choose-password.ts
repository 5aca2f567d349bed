/** The fields for a new password, and its change: on the account page, at sign-in, and by a link. */

import { hashPassword, passwordProblem, type User, verifyPassword } from '@gatehouse/identity';
import { type Html, html } from '@gatehouse/server';
import type { Request, Response } from 'express';
import { type ChangeDependencies, recordChange } from '../mail/compose.ts';
import { rejectForm } from '../pages/error-page.ts';
import { formField, problemNotice } from '../pages/page.ts';
import { passwordField } from '../pages/password-field.ts';
import type { Texts } from '../pages/texts-en.ts';
import { endEverything } from './sign-out-everywhere.ts';

export type PasswordProblem = keyof Texts['passwordProblems'];

/** Two fields, so that a typing error is found. */
export function newPasswordFields(
  texts: Texts,
  {
    isWrong,
    isFocused = isWrong,
    typed = '',
  }: { readonly isWrong: boolean; readonly isFocused?: boolean; readonly typed?: string },
): Html {
  const invalid = isWrong ? html` aria-invalid="true"` : undefined;
  const attributes = html` autocomplete="new-password" minlength="8" value="${typed}"${invalid}`;
  const first = html`${attributes} aria-describedby="${isWrong ? 'problem hint' : 'hint'}"${isFocused ? html` autofocus` : undefined}`;
  return html`${passwordField(texts, { id: 'wanted', label: texts.newPassword, attributes: first })}
<p class="hint" id="hint">${texts.newPasswordHint}</p>
${passwordField(texts, { id: 'repeated', label: texts.repeatPassword, attributes })}`;
}

/** A hidden field that tells password managers whose password it is. */
export const usernameForManagers = (username: string): Html =>
  html`<input class="for-password-managers" type="text" name="username" autocomplete="username" value="${username}" readonly tabindex="-1" aria-hidden="true">`;

/** The form of a page that only sets a password. @param hidden its other fields */
export const newPasswordForm = (
  texts: Texts,
  action: string,
  hidden: Html,
  {
    username,
    problem,
  }: { readonly username: string; readonly problem: PasswordProblem | undefined },
): Html =>
  html`${problemNotice(problem && texts.passwordProblems[problem])}
<form method="post" action="${action}">
${hidden}
${usernameForManagers(username)}
${newPasswordFields(texts, { isWrong: problem !== undefined, isFocused: true })}
<button class="primary" type="submit">${texts.setPassword}</button>
</form>`;

/**
 * What is wrong with the fields of the form, whose page is then shown again. The old password is not
 * a new one.
 */
export async function newPasswordProblem(
  { request, response }: { readonly request: Request; readonly response: Response },
  user: Pick<User, 'username' | 'passwordHash'>,
): Promise<PasswordProblem | undefined> {
  const wanted = formField(request, 'wanted');
  const isRepeated = wanted === formField(request, 'repeated');
  let problem: PasswordProblem | undefined = isRepeated ? passwordProblem(wanted, user) : 'differs';
  if (problem === undefined && (await verifyPassword(wanted, user.passwordHash ?? ''))) {
    problem = 'same';
  }
  if (problem !== undefined) {
    rejectForm(response, 'passwordRefused');
  }
  return problem;
}

/**
 * Sets the password of the form. Unlocks the account, and ends everything that was issued to it.
 *
 * @throws PasswordHashingBusyError
 */
export async function setPassword(
  request: Request,
  user: User,
  dependencies: ChangeDependencies,
): Promise<User> {
  const { identity } = dependencies;
  const passwordHash = await hashPassword(formField(request, 'wanted'));
  const changes = { passwordHash, mustChangePassword: undefined };
  const changed = await endEverything(user.userId, identity, changes);
  await identity.signInLocks.forgetPasswords(changed);
  await recordChange(request, user, 'password_changed', dependencies);
  return changed;
}
