/**
 * The account page: profile, applications with access and their revocation, change of password,
 * sign-out everywhere. A browser without a session goes through the ordinary sign-in, as a client
 * of this server (provider/clients.ts), and returns with the same session. Every form
 * carries a token of the session, and every reply to a form is a 303. sign-in/logout.ts signs out of
 * this browser only.
 */
import { destroyGrant, type Identity, type Settings, type User } from '@gatehouse/identity';
import { Router } from 'express';
import { rejectMethods, sendErrorPage } from '../pages/error-page.ts';
import { fill, foreignName, type Html, html, plainName } from '../pages/html.ts';
import {
  csrfField,
  formField,
  linkButton,
  parseForm,
  scopeList,
  sendPage,
  textsFor,
} from '../pages/page.ts';
import type { Texts } from '../pages/texts-en.ts';
import { ACCOUNT_CLIENT_ID } from '../provider/clients.ts';
import { requestOrigin } from '../requests/caller.ts';
import { providerRoutes } from '../requests/routes.ts';
import type { DeviceCookies } from '../throttle/device-cookie.ts';
import type { SignIn } from '../throttle/sign-in-throttle.ts';
import { addPasswordPage } from './password.ts';
import { type AccountSessions, pageAfterSignIn } from './session.ts';
import { addSignOutEverywherePages } from './sign-out-everywhere.ts';

export interface AccountDependencies {
  readonly identity: Identity;
  readonly sessions: AccountSessions;
  readonly signIn: SignIn;
  readonly deviceCookies: DeviceCookies;
}

export function createAccountRoutes(dependencies: AccountDependencies): Router {
  const { sessions } = dependencies;
  const router = Router({ caseSensitive: true, strict: true });
  addProfilePage(router, dependencies);
  addPasswordPage(router, dependencies);
  addSignOutEverywherePages(router, dependencies);

  // The end of the sign-in. Without a session, another redirect would loop, so the page reports it.
  router.get('/signed-in', async (request, response) => {
    if ((await sessions.current(request, response)) === undefined) {
      sendErrorPage(request, response, 400, 'cookiesNeeded');
      return;
    }
    response.redirect(303, pageAfterSignIn(request.query.state));
  });

  router.use(rejectMethods(router));
  return router;
}

function addProfilePage(router: Router, { identity, sessions }: AccountDependencies): void {
  router.get(
    '/',
    sessions.page(async (request, response, { user, csrfToken }) => {
      const texts = textsFor(request);
      const organization = await identity.organizations.find(user.orgId);
      const granted = await listApplications(user.userId, identity);
      const settings = await identity.settings.read();
      const heading = html`${notice(request.query.done, texts)}
<h1>${texts.accountTitle}</h1>`;
      const content = html`${profile(user, organization?.name ?? user.orgId, texts)}
<p class="actions"><a class="button" href="${providerRoutes.end_session}">${texts.signOut}</a> <a class="button" href="${providerRoutes.code_verification}">${texts.connectDevice}</a></p>
<section aria-labelledby="applications">
<h2 id="applications">${texts.applicationsTitle}</h2>
${granted.length === 0 ? html`<p class="quiet">${texts.applicationsNone}</p>` : html`<ul class="applications">${granted.map((each) => application(each, csrfToken, { texts, settings }))}</ul>`}
</section>
<section aria-labelledby="password">
<h2 id="password">${texts.password}</h2>
<p class="quiet">${texts.passwordLead}</p>
${linkButton('/account/password', texts.changePassword)}
</section>
<section aria-labelledby="everywhere">
<h2 id="everywhere">${texts.signOutEverywhere}</h2>
<p class="quiet">${texts.everywhereLead}</p>
${linkButton('/account/sign-out-everywhere', texts.signOutEverywhere)}
</section>`;
      sendPage(response, { texts, title: texts.accountTitle, heading, content, wide: true });
    }),
  );

  router.post(
    '/revoke',
    parseForm,
    sessions.form(async (request, response, { user: { userId } }) => {
      const clientId = formField(request, 'client');
      const grantIds = await revokeApplication(userId, clientId, identity);
      if (grantIds.length > 0) {
        const event = { event: 'grant_revoked', userId, clientId, grantIds } as const;
        identity.audit.record(event, requestOrigin(request));
      }
      response.redirect(303, '/account?done=revoked');
    }),
  );
}

/** The completed action, from the query. */
function notice(done: unknown, { accountNotices }: Texts): Html | undefined {
  return done === 'revoked' || done === 'password'
    ? html`<p class="success" role="status">${accountNotices[done]}</p>`
    : undefined;
}

function profile(user: User, organizationName: string, texts: Texts): Html {
  const { email, emailVerified, roles } = user;
  const mark = emailVerified ? undefined : html` (${texts.accountEmailUnverified})`;
  const emailFact =
    email === undefined
      ? undefined
      : html`<div><dt>${texts.accountEmail}</dt><dd><span translate="no">${foreignName(email)}</span>${mark}</dd></div>`;
  const rolesFact =
    roles.length === 0
      ? undefined
      : html`<div><dt>${texts.accountRoles}</dt><dd translate="no">${foreignName(roles.join(', '))}</dd></div>`;
  return html`<dl class="facts">
<div><dt>${texts.accountName}</dt><dd>${foreignName(user.name)}</dd></div>
<div><dt>${texts.username}</dt><dd translate="no">${foreignName(user.username)}</dd></div>
<div><dt>${texts.organization}</dt><dd>${foreignName(organizationName)}</dd></div>
${emailFact}${rolesFact}
<div><dt>${texts.accountId}</dt><dd class="mono" translate="no">${user.userId}</dd></div>
</dl>`;
}

function application(
  granted: GrantedApplication,
  csrfToken: string,
  { texts, settings }: { readonly texts: Texts; readonly settings: Settings },
): Html {
  const { clientId, name, scopes, since } = granted;
  const shown = name ?? clientId;
  const label = fill(texts.revokeLabel, { client: plainName(shown) });
  // A time would need the user's time zone, which is unknown.
  const format = new Intl.DateTimeFormat(texts.language, { dateStyle: 'long', timeZone: 'UTC' });
  const day = format.format(since * 1000);
  return html`<li class="application">
<h3>${foreignName(shown)}</h3>
${name === undefined ? html`<p class="quiet">${texts.applicationGone}</p>` : undefined}
<p class="quiet">${fill(texts.applicationSince, { day })} · <span translate="no">${fill(texts.applicationId, { clientId })}</span></p>
${scopeList(scopes, texts, settings)}
<form class="actions" method="post" action="/account/revoke">
${csrfField(csrfToken)}
<input type="hidden" name="client" value="${clientId}">
<button type="submit" aria-label="${label}">${texts.revoke}</button>
</form>
</li>`;
}

type GrantedApplication = Awaited<ReturnType<typeof listApplications>>[number];

/**
 * The applications with grants of the user: one for each browser in which the user allowed it, and
 * one for each device.
 */
async function listApplications(userId: string, { clients, userSessions }: Identity) {
  const grants = (await userSessions.grants(userId)).filter(
    ({ clientId }) => clientId !== ACCOUNT_CLIENT_ID,
  );
  const byClient = Map.groupBy(grants, ({ clientId }) => clientId);
  const applications = [...byClient].map(async ([clientId, held]) => ({
    clientId,
    /** Undefined when the client no longer exists. */
    name: (await clients.find(clientId))?.name,
    scopes: [...new Set(held.flatMap(({ scope }) => (scope === '' ? [] : scope.split(' '))))],
    /** Epoch seconds of the oldest valid grant. */
    since: Math.min(...held.map(({ since }) => since)),
  }));
  return (await Promise.all(applications)).sort((a, b) => b.since - a.since);
}

/**
 * Ends every grant of the client for this user, with all tokens and codes under them.
 *
 * @returns the ids of the grants
 */
async function revokeApplication(
  userId: string,
  clientId: string,
  { store, userSessions }: Identity,
): Promise<readonly string[]> {
  const grants = await userSessions.grants(userId);
  const ids = grants.filter((grant) => grant.clientId === clientId).map(({ id }) => id);
  await Promise.all(ids.map((id) => destroyGrant(store, id, Date.now())));
  return ids;
}
