import { foreignName } from '../pages/foreign-name.ts';
import { type Html, html, sentence } from '../pages/html.ts';
import type { Texts } from '../pages/texts.ts';

export interface SignInView {
  /** Undefined when the account page itself asks. */
  readonly clientName: string | undefined;
  readonly action: string;
  readonly csrfToken: string;
  /** What the user typed, or what the application suggested. */
  readonly username: string;
  readonly failed: boolean;
}

export function signInView(view: SignInView, texts: Texts): Html {
  const { username, failed, clientName } = view;
  const lead =
    clientName === undefined
      ? html`${texts.signInLeadAccount}`
      : sentence(texts.signInLead, { client: html`<strong>${foreignName(clientName)}</strong>` });
  // The page does not reveal which of the two is wrong, so it marks both.
  const invalid = failed ? html` aria-invalid="true" aria-describedby="problem"` : undefined;
  const focus = html` autofocus`;
  return html`<h1>${texts.signInTitle}</h1>
<p class="lead">${lead}</p>
${failed ? html`<p class="problem" role="alert" id="problem">${texts.signInFailed}<br>${texts.signInFailedWait}</p>` : undefined}
<form class="credentials" method="post" action="${view.action}">
<input type="hidden" name="csrf" value="${view.csrfToken}">
<label for="username">${texts.username}</label>
<input id="username" name="username" type="text" autocomplete="username" autocapitalize="none" autocorrect="off" spellcheck="false" required maxlength="128" value="${username}"${invalid}${username === '' ? focus : undefined}>
<label for="password">${texts.password}</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${invalid}${username === '' ? undefined : focus}>
<button class="primary" type="submit">${texts.signIn}</button>
</form>`;
}
