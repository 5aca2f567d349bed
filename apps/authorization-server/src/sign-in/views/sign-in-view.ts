import { type Html, html } from './html.ts';
import { fill, type Texts } from './texts.ts';

export interface SignInView {
  readonly clientName: string;
  readonly action: string;
  readonly csrfToken: string;
  /** What the person typed, or what the application suggested. */
  readonly username: string;
  readonly failed: boolean;
}

export function signInView(view: SignInView, texts: Texts): Html {
  return html`<h1>${texts.signInTitle}</h1>
<p class="lead">${fill(texts.signInLead, { client: view.clientName })}</p>
${view.failed ? html`<p class="problem" role="alert" id="problem">${texts.signInFailed}</p>` : undefined}
<form method="post" action="${view.action}">
<input type="hidden" name="csrf" value="${view.csrfToken}">
<label for="username">${texts.username}</label>
<input id="username" name="username" type="text" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="128" value="${view.username}"${view.failed ? html` aria-describedby="problem"` : undefined}>
<label for="password">${texts.password}</label>
<input id="password" name="password" type="password" autocomplete="current-password" required>
<button class="primary" type="submit">${texts.signIn}</button>
</form>`;
}
