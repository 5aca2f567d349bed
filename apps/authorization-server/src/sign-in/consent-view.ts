import { foreignName } from '../pages/foreign-name.ts';
import { type Html, html, sentence } from '../pages/html.ts';
import { scopeList } from '../pages/scope-list.ts';
import type { Texts } from '../pages/texts.ts';

export interface ConsentView {
  readonly clientName: string;
  readonly clientId: string;
  readonly organizationName: string;
  readonly userName: string;
  /** Undefined for a device, which receives its tokens by polling. */
  readonly returnsTo: string | undefined;
  readonly scopes: readonly string[];
  readonly action: string;
  readonly switchAddress: string;
  readonly csrfToken: string;
}

/**
 * Shows the client's id and organization next to its name: names can imitate each other, ids cannot
 * (ASVS 10.7.2). Everything that the user needs for the decision is above the buttons.
 */
export function consentView(view: ConsentView, texts: Texts): Html {
  return html`<h1>${sentence(texts.consentTitle, { client: foreignName(view.clientName) })}</h1>
<p class="person"><span>${sentence(texts.signedInAs, { name: html`<strong>${foreignName(view.userName)}</strong>` })}</span> <a href="${view.switchAddress}">${texts.useAnotherAccount}</a></p>
<p class="before-list">${texts.consentLead}</p>
${scopeList(view.scopes, texts)}
<dl class="origin">
<div><dt>${texts.consentOrganization}</dt><dd>${foreignName(view.organizationName)}</dd></div>
<div><dt>${texts.consentDestination}</dt><dd>${destination(view.returnsTo, texts)}</dd></div>
<div><dt>${texts.consentApplicationId}</dt><dd translate="no">${view.clientId}</dd></div>
</dl>
<form class="choice" method="post" action="${view.action}">
<input type="hidden" name="csrf" value="${view.csrfToken}">
<button class="primary" type="submit" name="decision" value="allow">${texts.allow}</button>
<button type="submit" name="decision" value="deny">${texts.deny}</button>
</form>
<p class="small">${texts.endAnyTime}</p>`;
}

function destination(host: string | undefined, texts: Texts): Html {
  return host === undefined
    ? html`${texts.consentToDevice}`
    : html`<bdi translate="no">${host}</bdi>`;
}
