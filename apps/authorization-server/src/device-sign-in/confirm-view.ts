import { foreignName } from '../pages/foreign-name.ts';
import { type Html, html, sentence } from '../pages/html.ts';
import { scopeList } from '../pages/scope-list.ts';
import { fill, type Texts } from '../pages/texts.ts';
import { providerRoutes } from '../requests/routes.ts';

export interface ConfirmView {
  readonly clientName: string;
  readonly clientId: string;
  readonly userCode: string;
  /** Scopes that no consent page lists, because the operator trusts the application. */
  readonly scopesWithoutConsent: readonly string[];
  readonly token: string;
}

/**
 * RFC 8628 §5.4: an attacker can send a code to a user, so the user compares it with the device.
 * The consent page lists the scopes, and this page those of an application without one.
 */
export function confirmView(view: ConfirmView, texts: Texts): Html {
  const client = html`<strong>${foreignName(view.clientName)}</strong>`;
  return html`<h1>${texts.deviceConfirmTitle}</h1>
<p class="lead">${texts.deviceConfirmLead}</p>
<p class="code" translate="no"><output>${view.userCode}</output></p>
${requestOf(view, client, texts)}
<p class="warning">${texts.deviceWarning}</p>
<form method="post" action="${providerRoutes.code_verification}">
<input type="hidden" name="xsrf" value="${view.token}">
<input type="hidden" name="user_code" value="${view.userCode}">
<button class="primary" type="submit" name="confirm" value="yes">${texts.deviceConfirm}</button>
<button type="submit" name="abort" value="yes">${texts.deviceCancel}</button>
</form>
<p class="small"><span translate="no">${fill(texts.applicationId, { clientId: view.clientId })}</span></p>`;
}

function requestOf(
  { scopesWithoutConsent: scopes }: ConfirmView,
  client: Html,
  texts: Texts,
): Html {
  return scopes.length === 0
    ? html`<p>${sentence(texts.deviceAsks, { client })}</p>`
    : html`<p class="before-list">${sentence(texts.deviceGets, { client })}</p>
${scopeList(scopes, texts)}`;
}
