import { foreignName } from '../pages/foreign-name.ts';
import { type Html, html, sentence } from '../pages/html.ts';
import type { Texts } from '../pages/texts.ts';
import { providerRoutes } from '../requests/routes.ts';

export interface LogoutView {
  readonly userName: string;
  readonly applicationNames: readonly string[];
  readonly stayAddress: string;
  readonly token: string;
}

export function logoutView(view: LogoutView, texts: Texts): Html {
  const name = html`<strong>${foreignName(view.userName)}</strong>`;
  const names = view.applicationNames.map((each) => html`<li>${foreignName(each)}</li>`);
  return html`<h1>${texts.logoutTitle}</h1>
<p class="lead">${sentence(texts.logoutLead, { name })}</p>
<p class="before-list">${names.length === 0 ? texts.logoutEndsNothing : texts.logoutEnds}</p>
${names.length === 0 ? undefined : html`<ul class="plain-list">${names}</ul>`}
<form method="post" action="${providerRoutes.end_session}/confirm">
<input type="hidden" name="xsrf" value="${view.token}">
<button class="primary" type="submit" name="logout" value="yes">${texts.signOut}</button>
</form>
<p class="actions"><a class="button" href="${view.stayAddress}">${texts.staySignedIn}</a></p>
<p class="small">${texts.logoutKeepsDevices}</p>`;
}

export function signedOutView(texts: Texts): Html {
  return html`<h1>${texts.signedOutTitle}</h1>
<p>${texts.signedOut}</p>
<p class="actions"><a class="button" href="/account">${texts.signInAgain}</a></p>`;
}
