import type { User } from '@gatehouse/identity';
import { foreignName, plainName } from '../pages/foreign-name.ts';
import { type Html, html } from '../pages/html.ts';
import { formatDay } from '../pages/language.ts';
import { scopeList } from '../pages/scope-list.ts';
import { fill, type Texts } from '../pages/texts.ts';
import { providerRoutes } from '../requests/routes.ts';
import type { GrantedApplication } from './applications.ts';

export interface AccountView {
  readonly user: User;
  readonly organizationName: string;
  readonly applications: readonly GrantedApplication[];
  /** The completed action, from the query. */
  readonly done: unknown;
  readonly csrfToken: string;
}

export function accountView(view: AccountView, texts: Texts, language: string): Html {
  const { user, applications, csrfToken } = view;
  const list = applications.map((each) => application(each, csrfToken, texts, language));
  return html`${notice(view.done, texts)}
<h1>${texts.accountTitle}</h1>
<dl class="facts">
<div><dt>${texts.accountName}</dt><dd>${foreignName(user.name)}</dd></div>
<div><dt>${texts.username}</dt><dd translate="no">${foreignName(user.username)}</dd></div>
<div><dt>${texts.accountOrganization}</dt><dd>${foreignName(view.organizationName)}</dd></div>
${emailFact(user, texts)}${rolesFact(user, texts)}
<div><dt>${texts.accountId}</dt><dd class="mono" translate="no">${user.userId}</dd></div>
</dl>
<p class="actions"><a class="button" href="${providerRoutes.end_session}">${texts.signOutHere}</a> <a class="button" href="${providerRoutes.code_verification}">${texts.connectDevice}</a></p>
<section aria-labelledby="applications">
<h2 id="applications">${texts.applicationsTitle}</h2>
${list.length === 0 ? html`<p class="quiet">${texts.applicationsNone}</p>` : html`<ul class="applications">${list}</ul>`}
</section>
<section aria-labelledby="password">
<h2 id="password">${texts.passwordTitle}</h2>
<p class="quiet">${texts.passwordLead}</p>
<p class="actions"><a class="button" href="/account/password">${texts.changePassword}</a></p>
</section>
<section aria-labelledby="everywhere">
<h2 id="everywhere">${texts.everywhereTitle}</h2>
<p class="quiet">${texts.everywhereLead}</p>
<p class="actions"><a class="button" href="/account/sign-out-everywhere">${texts.signOutEverywhere}</a></p>
</section>`;
}

function emailFact({ email, emailVerified }: User, texts: Texts): Html | undefined {
  if (email === undefined) {
    return undefined;
  }
  const mark = emailVerified ? undefined : html` (${texts.accountEmailUnverified})`;
  return html`<div><dt>${texts.accountEmail}</dt><dd><span translate="no">${foreignName(email)}</span>${mark}</dd></div>`;
}

function rolesFact({ roles }: User, texts: Texts): Html | undefined {
  return roles.length === 0
    ? undefined
    : html`<div><dt>${texts.accountRoles}</dt><dd translate="no">${foreignName(roles.join(', '))}</dd></div>`;
}

function application(
  { clientId, name, scopes, since }: GrantedApplication,
  csrfToken: string,
  texts: Texts,
  language: string,
): Html {
  const shown = name ?? clientId;
  const label = fill(texts.revokeLabel, { client: plainName(shown) });
  return html`<li class="application">
<h3>${foreignName(shown)}</h3>
${name === undefined ? html`<p class="quiet">${texts.applicationGone}</p>` : undefined}
<p class="quiet">${fill(texts.applicationSince, { day: formatDay(since, language) })} · <span translate="no">${fill(texts.applicationId, { clientId })}</span></p>
${scopeList(scopes, texts)}
<form class="actions" method="post" action="/account/revoke">
<input type="hidden" name="csrf" value="${csrfToken}">
<input type="hidden" name="client" value="${clientId}">
<button type="submit" aria-label="${label}">${texts.revoke}</button>
</form>
</li>`;
}

function notice(done: unknown, texts: Texts): Html | undefined {
  const notices: Readonly<Record<string, string>> = {
    revoked: texts.revokedNotice,
    password: texts.passwordChangedNotice,
  };
  const text = typeof done === 'string' && Object.hasOwn(notices, done) ? notices[done] : undefined;
  return text === undefined ? undefined : html`<p class="success" role="status">${text}</p>`;
}
