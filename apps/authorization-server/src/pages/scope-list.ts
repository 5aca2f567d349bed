import { type Html, html } from './html.ts';
import type { Texts } from './texts.ts';

/** What an application asks for, in words; the scope itself where there are none. */
export function scopeList(scopes: readonly string[], texts: Texts): Html {
  const items = scopes.map((scope) => html`<li>${texts.scopes[scope] ?? scope}</li>`);
  return html`<ul class="scopes">${items}</ul>`;
}
