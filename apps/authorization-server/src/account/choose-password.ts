/** The fields for a new password, and its change: on the account page, at sign-in, and by a link. */
import { hashPassword, passwordProblem, type User, verifyPassword } from '@gatehouse/identity';
import type { Request } from 'express';
import { formProblems, noteFailure } from '../pages/error-page.ts';
import { type Html, html } from '../pages/html.ts';
import { formField } from '../pages/page.ts';
import { passwordField } from '../pages/password-field.ts';
import type { Texts } from '../pages/texts-en.ts';
import { recordEvent } from '../requests/caller.ts';
import type { AccountDependencies } from './account.ts';
import { endEverything } from './sign-out-everywhere.ts';

export type PasswordProblem = keyof Texts['passwordProblems'];

/** Two fields, so that a typing error is found. They keep nothing that was typed. */
export function newPasswordFields(
  texts: Texts,
  {
    username,
    problem,
  }: {
    /** For password managers. Undefined if the form has a field for it. */
    readonly username?: string;
    readonly problem?: PasswordProblem | undefined;
  },
): Html {
  const invalid = problem === undefined ? undefined : html` aria-invalid="true"`;
  const field = (id: string, label: string, more?: Html) => {
    const attributes = html` autocomplete="new-password" minlength="8"${invalid}${more}`;
    return passwordField(texts, { id, label, attributes });
  };
  const known =
    username === undefined
      ? undefined
      : html`<input class="for-password-managers" type="text" name="username" autocomplete="username" value="${username}" readonly tabindex="-1" aria-hidden="true">`;
  const focus = username === undefined ? undefined : html` autofocus`;
  return html`${known}
${field('wanted', texts.newPassword, html` aria-describedby="${problem === undefined ? 'hint' : 'problem hint'}"${focus}`)}
<p class="hint" id="hint">${texts.newPasswordHint}</p>
${field('repeated', texts.repeatPassword)}`;
}

/** What is wrong with the fields of the form. The old password is not a new one. */
export async function newPasswordProblem(
  request: Request,
  user: Pick<User, 'username' | 'passwordHash'>,
): Promise<PasswordProblem | undefined> {
  const wanted = formField(request, 'wanted');
  const isRepeated = wanted === formField(request, 'repeated');
  let problem: PasswordProblem | undefined = isRepeated ? passwordProblem(wanted, user) : 'differs';
  if (problem === undefined && (await verifyPassword(wanted, user.passwordHash ?? ''))) {
    problem = 'same';
  }
  if (problem !== undefined) {
    noteFailure(request, 'passwordRefused', formProblems.passwordRefused);
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
  { userId }: User,
  dependencies: Pick<AccountDependencies, 'identity'>,
): Promise<User> {
  const { identity } = dependencies;
  const passwordHash = await hashPassword(formField(request, 'wanted'));
  const changes = { passwordHash, mustChangePassword: undefined };
  const changed = await endEverything(userId, dependencies, changes);
  await identity.signInLocks.forgetPasswords(changed);
  recordEvent(request, { event: 'user_changed', userId, change: 'password_changed' }, identity);
  return changed;
}
