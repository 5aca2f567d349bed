import { type Html, html } from '../pages/html.ts';
import type { Texts } from '../pages/texts.ts';

export interface PasswordView {
  readonly username: string;
  readonly problem: string | undefined;
  /** Which of the fields the problem is about. */
  readonly wrongField?: 'current' | 'wanted' | undefined;
  /** What the user typed into the fields that are not wrong. */
  readonly kept?: { readonly current: string; readonly wanted: string } | undefined;
  readonly csrfToken: string;
}

export function passwordView(view: PasswordView, texts: Texts): Html {
  const { problem, wrongField } = view;
  const invalid = html` aria-invalid="true"`;
  const wantedIsWrong = wrongField === 'wanted' ? invalid : undefined;
  const focus = html` autofocus`;
  const [focusCurrent, focusWanted] = wantedIsWrong === undefined ? [focus] : [undefined, focus];
  const { current, wanted } = view.kept ?? { current: '', wanted: '' };
  const describedBy = wantedIsWrong === undefined ? 'hint' : 'problem hint';
  return html`<h1>${texts.changePassword}</h1>
<p class="lead">${texts.passwordLead}</p>
${problem === undefined ? undefined : html`<p class="problem" role="alert" id="problem">${problem}</p>`}
<form method="post" action="/account/password">
<input type="hidden" name="csrf" value="${view.csrfToken}">
<input class="for-password-managers" type="text" name="username" autocomplete="username" value="${view.username}" readonly tabindex="-1" aria-hidden="true">
<label for="current">${texts.currentPassword}</label>
<input id="current" name="current" type="password" autocomplete="current-password" required value="${current}"${wrongField === 'current' ? html`${invalid} aria-describedby="problem"` : undefined}${focusCurrent}>
<label for="wanted">${texts.newPassword}</label>
<input id="wanted" name="wanted" type="password" autocomplete="new-password" required minlength="8" value="${wanted}" aria-describedby="${describedBy}"${wantedIsWrong}${focusWanted}>
<p class="hint" id="hint">${texts.newPasswordHint}</p>
<label for="repeated">${texts.repeatPassword}</label>
<input id="repeated" name="repeated" type="password" autocomplete="new-password" required minlength="8" value="${wanted}"${wantedIsWrong}>
<button class="primary" type="submit">${texts.changePassword}</button>
</form>
<p class="actions"><a class="button" href="/account">${texts.backToAccount}</a></p>`;
}
