import { type Html, html } from '../pages/html.ts';
import type { Texts } from '../pages/texts.ts';

/** Asks for confirmation. The form contains the CSRF token of the session. */
export function signOutEverywhereView(csrfToken: string, texts: Texts): Html {
  return html`<h1>${texts.everywhereQuestion}</h1>
<p class="lead">${texts.everywhereLead}</p>
<form method="post" action="/account/sign-out-everywhere">
<input type="hidden" name="csrf" value="${csrfToken}">
<button class="danger" type="submit">${texts.signOutEverywhere}</button>
</form>
<p class="actions"><a class="button" href="/account">${texts.backToAccount}</a></p>`;
}
