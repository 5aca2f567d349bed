import { type Html, html } from './html.ts';
import { fill, type Texts } from './texts.ts';

export interface ConsentView {
  readonly clientName: string;
  readonly clientId: string;
  readonly userName: string;
  readonly returnsTo: string;
  readonly scopes: readonly string[];
  readonly action: string;
  readonly csrfToken: string;
}

/** The client's id stands beside its name: names can be made to look alike, ids cannot (ASVS 10.7.2). */
export function consentView(view: ConsentView, texts: Texts): Html {
  return html`<h1>${fill(texts.consentTitle, { client: view.clientName })}</h1>
<p class="lead">${fill(texts.signedInAs, { name: view.userName })}</p>
<p>${texts.consentLead}</p>
<ul class="scopes">${view.scopes.map((scope) => html`<li>${texts.scopes[scope] ?? scope}</li>`)}</ul>
<form method="post" action="${view.action}">
<input type="hidden" name="csrf" value="${view.csrfToken}">
<button class="primary" type="submit" name="decision" value="allow">${texts.allow}</button>
<button type="submit" name="decision" value="deny">${texts.deny}</button>
</form>
<p class="small">${fill(texts.returnsTo, { host: view.returnsTo })}<br>${fill(texts.applicationId, { clientId: view.clientId })}</p>`;
}
