/**
 * Accounts at upstream providers that sign the user in: the section of the account page, and the
 * pages that connect and disconnect one. They need a recent sign-in. A connection starts with a form,
 * so that no other site can connect its own account to that of a user.
 */
import type { Identity, Upstream, User } from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import type { Router } from 'express';
import { sendErrorPage } from '../pages/error-page.ts';
import { fill, foreignName, type Html, html, plainName, sentence } from '../pages/html.ts';
import { linkButton } from '../pages/page.ts';
import { requestOrigin } from '../requests/caller.ts';
import { isOfProvider } from '../upstream/accounts.ts';
import { callbackOf, failureOf } from '../upstream/failures.ts';
import { ACCOUNT_PLACE, ACCOUNT_UPSTREAMS_PATH } from '../upstream/round-trips.ts';
import type { AccountDependencies } from './account.ts';
import type { AccountPage, Handler } from './session.ts';

/** Undefined without a provider for the user's organization. */
export async function upstreamsSection(
  { user, texts, csrf }: AccountPage,
  identity: Identity,
): Promise<Html | undefined> {
  const { upstreams } = await identity.settings.read();
  const offered = [...upstreams.values()].filter((each) => isOfProvider(user, each));
  if (offered.length === 0) {
    return undefined;
  }
  const linked = await identity.upstreamLinks.list(user.userId);
  const isOnlyWay = await isOnly(user, linked, identity);
  const item = ({ id, name }: Upstream) => {
    const label = (text: string) => fill(text, { provider: plainName(name) });
    const address = `${ACCOUNT_UPSTREAMS_PATH}/${id}`;
    if (!linked.includes(id)) {
      return html`<li class="application">
<h3>${foreignName(name)}</h3>
${linkButton(address, label(texts.upstreamConnect))}
</li>`;
    }
    const form = html`<form class="actions" method="post" action="${address}/disconnect">
${csrf}
<button type="submit">${label(texts.upstreamDisconnect)}</button>
</form>`;
    return html`<li class="application">
<h3>${foreignName(name)}</h3>
<p class="quiet">${texts.upstreamConnected}${isOnlyWay ? html`. ${texts.upstreamOnlyWay}` : undefined}</p>
${isOnlyWay ? undefined : form}
</li>`;
  };
  return html`<section aria-labelledby="upstreams">
<h2 id="upstreams">${texts.upstreamsTitle}</h2>
<ul class="applications">${offered.map(item)}</ul>
</section>`;
}

/** Without it, the user could not sign in anymore. */
const isOnly = async (
  { userId, passwordHash }: User,
  linked: readonly string[],
  { passkeys }: Identity,
) => passwordHash === undefined && linked.length <= 1 && (await passkeys.list(userId)).length === 0;

type UpstreamHandler = (page: AccountPage, upstream: Upstream) => Promise<void>;

export function addUpstreamPages(router: Router, pages: AccountDependencies): void {
  const { identity, sessions, roundTrips, upstreamAccounts } = pages;

  /** With the provider of the address. Errors are pages that lead back. */
  const withUpstream =
    (handle: UpstreamHandler): Handler =>
    async (page) => {
      const { request, response, user } = page;
      const { upstreams } = await identity.settings.read();
      const upstream = upstreams.get(String(request.params.upstream));
      if (upstream === undefined || !isOfProvider(user, upstream)) {
        sendErrorPage(request, response, 404, 'notFound');
        return;
      }
      try {
        await handle(page, upstream);
      } catch (error) {
        const { status, message, finding } = failureOf(error);
        observedRequest(request).notes.finding = finding;
        const next = { address: '/account', label: 'backToAccount' } as const;
        sendErrorPage(request, response, status, message, next);
      }
    };
  const page = (handle: UpstreamHandler) => sessions.page(withUpstream(handle), 'recentSignIn');
  const form = (handle: UpstreamHandler) => sessions.form(withUpstream(handle), 'recentSignIn');
  const placeOf = ({ session, user }: AccountPage) => ({
    id: ACCOUNT_PLACE,
    owner: `${session.uid} ${user.userId}`,
  });

  router.get(
    '/upstreams/:upstream',
    page(async ({ texts, csrf, send }, { id, name }) => {
      const title = fill(texts.upstreamConnect, { provider: plainName(name) });
      const content = html`<p class="lead">${sentence(texts.upstreamConnectLead, { provider: foreignName(name) })}</p>
<form method="post" action="${ACCOUNT_UPSTREAMS_PATH}/${id}">
${csrf}
<button class="primary" type="submit">${texts.continue}</button>
</form>`;
      // The provider may redirect to another of its hosts, and Chromium checks that redirect as well.
      send(title, content, { formTargets: ['https:'] });
    }),
  );

  router.post(
    '/upstreams/:upstream',
    form(async (opened, upstream) => {
      opened.response.redirect(303, await roundTrips.begin(placeOf(opened), upstream, {}));
    }),
  );

  router.get(
    '/upstreams/:upstream/return',
    page(async (opened, upstream) => {
      const { request, response, user } = opened;
      const found = await roundTrips.finish(placeOf(opened), upstream, callbackOf(request));
      if (await upstreamAccounts.link(user, { upstream, found, origin: requestOrigin(request) })) {
        opened.finish('connected');
        return;
      }
      const next = { address: '/account', label: 'backToAccount' } as const;
      sendErrorPage(request, response, 403, 'upstreamTaken', next);
    }),
  );

  router.post(
    '/upstreams/:upstream/disconnect',
    form(async ({ request, response, user, finish }, upstream) => {
      const linked = await identity.upstreamLinks.list(user.userId);
      if (await isOnly(user, linked, identity)) {
        sendErrorPage(request, response, 403, 'formRefused');
        return;
      }
      await upstreamAccounts.unlink(user, upstream, requestOrigin(request));
      finish('disconnected');
    }),
  );
}
