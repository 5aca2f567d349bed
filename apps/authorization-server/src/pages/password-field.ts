import { type Html, html } from '@gatehouse/server';
import { SHOW_PASSWORD_SCRIPT_PATH } from './assets.ts';
import type { Texts } from './texts-en.ts';

/** Makes the buttons of password fields visible. Without it, the fields work as well. */
export const passwordScripts: readonly string[] = [SHOW_PASSWORD_SCRIPT_PATH];

/**
 * A password with its label and a button that shows it. Browsers send no text to a spelling service,
 * also while it is visible.
 *
 * @param attributes those of `input`, such as `autocomplete`
 */
export function passwordField(
  texts: Texts,
  {
    id,
    label,
    attributes,
    isRequired = true,
  }: {
    readonly id: string;
    readonly label: string;
    readonly attributes: Html;
    readonly isRequired?: boolean;
  },
): Html {
  return html`<label for="${id}">${label}</label>
<div class="password">
<input id="${id}" name="${id}" type="password" autocapitalize="none" autocorrect="off" spellcheck="false"${isRequired ? html` required` : undefined}${attributes}>
<button class="reveal" type="button" aria-controls="${id}" aria-pressed="false" hidden><svg viewBox="0 0 24 24" width="24" height="24" aria-hidden="true"><path d="M2 12s3.6-6.5 10-6.5S22 12 22 12s-3.6 6.5-10 6.5S2 12 2 12z"/><circle cx="12" cy="12" r="3"/><path class="slash" d="M4 20 20 4"/></svg><span class="unseen">${texts.showPassword}</span></button>
</div>`;
}
