import { type Html, html } from './html.ts';
import type { Texts } from './texts.ts';

/** The requested scopes in words. A scope without a text is shown as it is. */
export function scopeList(scopes: readonly string[], texts: Texts): Html {
  const items = scopes.map((scope) => html`<li>${texts.scopes[scope] ?? scope}</li>`);
  return html`<ul class="scopes">${items}</ul>`;
}
