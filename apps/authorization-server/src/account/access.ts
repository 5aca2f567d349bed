/**
 * What has access to the account: the browsers in which its user is signed in, and the applications.
 * The user can end each of them. All tokens under it end at once.
 */

import {
  credentialId,
  destroyGrant,
  type Identity,
  type SessionUse,
  type Settings,
} from '@gatehouse/identity';
import { fill, foreignName, type Html, html, plainName } from '@gatehouse/server';
import type { Request, Router } from 'express';
import type { Session } from 'oidc-provider';
import { browserName, dayOf } from '../pages/languages.ts';
import { formField, scopeList } from '../pages/page.ts';
import type { Texts } from '../pages/texts-en.ts';
import { ACCOUNT_CLIENT_ID } from '../provider/clients.ts';
import { addressGroupOf, recordEvent } from '../requests/caller.ts';
import type { AccountDependencies } from './account.ts';
import type { AccountPage } from './session.ts';

/** More than a person uses. Others are counted, and end with all of them. */
const SHOWN_BROWSERS = 50;
/** Each use of an application notes the place of its session. The account page does it less often. */
const NOTED_SECONDS = 60 * 60;

export function addAccessForms(router: Router, { identity, sessions }: AccountDependencies): void {
  router.post(
    '/end-session',
    sessions.form(async ({ request, finish, user: { userId } }) => {
      const applications = await identity.userSessions.end(userId, formField(request, 'session'));
      if (applications !== undefined) {
        await identity.logouts.addForApplications(userId, applications);
        recordEvent(request, { event: 'sign_out', userId, everywhere: false }, identity);
      }
      finish('session');
    }),
  );

  router.post(
    '/revoke',
    sessions.form(async ({ request, finish, user: { userId } }) => {
      const clientId = formField(request, 'client');
      const grants = await identity.userSessions.grants(userId);
      const grantIds = grants.filter((each) => each.clientId === clientId).map(({ id }) => id);
      // With all tokens and codes under them.
      await Promise.all(grantIds.map((id) => destroyGrant(identity.store, id, Date.now())));
      if (grantIds.length > 0) {
        recordEvent(request, { event: 'grant_revoked', userId, clientId, grantIds }, identity);
      }
      finish('revoked');
    }),
  );
}

type ShownBrowser = Awaited<ReturnType<Identity['userSessions']['sessions']>>[number];

/** The browsers, this one first, then those that were used last. */
export async function browsersSection(
  { request, user, session, texts, csrf }: AccountPage,
  { userSessions, credentialHash }: Identity,
): Promise<Html> {
  const currentId = credentialId(credentialHash(session.jti));
  const timeOf = ({ id, lastUse, signedInAt }: ShownBrowser) =>
    id === currentId ? Number.POSITIVE_INFINITY : (lastUse?.at ?? signedInAt);
  const found = [...(await userSessions.sessions(user.userId))];
  await noteUse(request, session, found.find(({ id }) => id === currentId)?.lastUse);
  const shown = found.sort((a, b) => timeOf(b) - timeOf(a)).slice(0, SHOWN_BROWSERS);
  const others = found.length - shown.length;
  const items = shown.map((each) => browser(each, texts, each.id === currentId ? undefined : csrf));
  const more =
    others === 0
      ? undefined
      : html`<p class="quiet">${fill(texts.browsersMore, { count: String(others) })}</p>`;
  return html`<section aria-labelledby="browsers">
<h2 id="browsers">${texts.browsersTitle}</h2>
<ul class="applications">${items}</ul>
${more}
</section>`;
}

async function noteUse(request: Request, session: Session, last: SessionUse | undefined) {
  const age = Math.floor(Date.now() / 1000) - (last?.at ?? 0);
  if (age >= NOTED_SECONDS || last?.from !== addressGroupOf(request)) {
    // A full store must not keep the user from ending a session.
    await session.persist().catch(() => undefined);
  }
}

/** Without the token of its form, it is the browser that shows the page. */
function browser(
  { id, signedInAt, lastUse }: ShownBrowser,
  texts: Texts,
  csrf: Html | undefined,
): Html {
  const { at = signedInAt, from } = lastUse ?? {};
  const name = browserName(lastUse ?? {}, texts);
  const day = dayOf(at, texts);
  const used =
    from === undefined
      ? fill(texts.browserUsed, { day })
      : fill(texts.browserUsedFrom, { day, address: from });
  const since = fill(texts.browserSince, { day: dayOf(signedInAt, texts) });
  const ending =
    csrf === undefined
      ? html`<p class="current">${texts.browserCurrent}</p>`
      : html`<form class="actions" method="post" action="/account/end-session">
${csrf}
<input type="hidden" name="session" value="${id}">
<button type="submit" aria-label="${fill(texts.endSessionLabel, { browser: name })}">${texts.endSession}</button>
</form>`;
  return html`<li class="application">
<h3>${name}</h3>
<p class="quiet">${used} · ${since}</p>
${ending}
</li>`;
}

export async function applicationsSection(
  { user, texts, csrf }: AccountPage,
  identity: Identity,
): Promise<Html> {
  const granted = await listApplications(user.userId, identity);
  const settings = await identity.settings.read();
  const list =
    granted.length === 0
      ? html`<p class="quiet">${texts.applicationsNone}</p>`
      : html`<ul class="applications">${granted.map((each) => application(each, csrf, { texts, settings }))}</ul>`;
  return html`<section aria-labelledby="applications">
<h2 id="applications">${texts.applicationsTitle}</h2>
${list}
</section>`;
}

function application(
  granted: GrantedApplication,
  csrf: Html,
  { texts, settings }: { readonly texts: Texts; readonly settings: Settings },
): Html {
  const { clientId, name, scopes, since } = granted;
  const shown = name ?? clientId;
  const label = fill(texts.revokeLabel, { client: plainName(shown) });
  const day = dayOf(since, texts);
  return html`<li class="application">
<h3>${foreignName(shown)}</h3>
${name === undefined ? html`<p class="quiet">${texts.applicationGone}</p>` : undefined}
<p class="quiet">${fill(texts.applicationSince, { day })} · <span translate="no">${fill(texts.applicationId, { clientId })}</span></p>
${scopeList(scopes, texts, settings)}
<form class="actions" method="post" action="/account/revoke">
${csrf}
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
export async function listApplications(userId: string, { clients, userSessions }: Identity) {
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
