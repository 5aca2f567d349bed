import { foreignName } from '../pages/foreign-name.ts';
import { type Html, html, sentence } from '../pages/html.ts';
import type { Texts } from '../pages/texts.ts';

export interface ChooseAccountView {
  readonly clientName: string;
  readonly userName: string;
  readonly action: string;
  readonly switchAddress: string;
  readonly csrfToken: string;
}

/** The application sent `prompt=select_account`, and a user is signed in. */
export function chooseAccountView(view: ChooseAccountView, texts: Texts): Html {
  const { clientName, userName } = view;
  return html`<h1>${texts.chooseAccountTitle}</h1>
<p class="lead">${sentence(texts.signInLead, { client: html`<strong>${foreignName(clientName)}</strong>` })}</p>
<form method="post" action="${view.action}">
<input type="hidden" name="csrf" value="${view.csrfToken}">
<button class="primary" type="submit"><span>${sentence(texts.keepAccount, { name: foreignName(userName) })}</span></button>
</form>
<p class="actions"><a href="${view.switchAddress}">${texts.useAnotherAccount}</a></p>`;
}
