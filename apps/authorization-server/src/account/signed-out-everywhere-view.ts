import { type Html, html } from '../pages/html.ts';
import type { Texts } from '../pages/texts.ts';

export function signedOutEverywhereView(texts: Texts): Html {
  return html`<h1>${texts.signedOutEverywhereTitle}</h1>
<p>${texts.signedOutEverywhere}</p>
<p class="actions"><a class="button" href="/account">${texts.signInAgain}</a></p>`;
}
