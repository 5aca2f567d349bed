/**
 * Accounts at upstream providers that sign the user in: the section of the account page, and what
 * connects and disconnects one. Both need a form and a recent sign-in, so that no other site can
 * connect its own account to that of a user.
 */

import type { Identity, Upstream, User } from '@gatehouse/identity';
import { fill, foreignName, type Html, html, plainName } from '@gatehouse/server';
import type { Router } from 'express';
import { sendErrorPage } from '../pages/error-page.ts';
import { findUpstream, isOfProvider, linkAccount, recordLink } from '../upstream/accounts.ts';
import { sendUpstreamFailure, sendWayTo } from '../upstream/failures.ts';
import { ACCOUNT_UPSTREAMS_PATH, accountPlace } from '../upstream/round-trips.ts';
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
    const provider = plainName(name);
    const form = (
      action: string,
      text: string,
    ) => html`<form class="actions" method="post" action="${ACCOUNT_UPSTREAMS_PATH}/${id}/${action}">
${csrf}
<button type="submit">${fill(text, { provider })}</button>
</form>`;
    const only = isOnlyWay ? html`. ${texts.upstreamOnlyWay}` : undefined;
    const connected = html`<p class="quiet">${texts.upstreamConnected}${only}</p>
${isOnlyWay ? undefined : form('disconnect', texts.upstreamDisconnect)}`;
    return html`<li class="application">
<h3>${foreignName(name)}</h3>
${linked.includes(id) ? connected : form('connect', texts.upstreamConnect)}
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
  const { identity, sessions, roundTrips } = pages;

  /** With the provider of the address. The page of a failure leads back. */
  const withUpstream =
    (handle: UpstreamHandler): Handler =>
    async (page) => {
      try {
        const id = String(page.request.params.upstream);
        await handle(page, await findUpstream(id, identity, page.user));
      } catch (error) {
        sendUpstreamFailure(error, page, { address: '/account', label: 'backToAccount' });
      }
    };
  const form = (handle: UpstreamHandler) => sessions.form(withUpstream(handle), 'recentSignIn');
  const placeOf = ({ session, user }: AccountPage) => accountPlace(session.uid, user.userId);

  router.post(
    '/upstreams/:upstream/connect',
    form(async (page, upstream) => {
      const wanted = { isFresh: false, remember: false };
      sendWayTo(await roundTrips.begin(placeOf(page), upstream, wanted), upstream, page);
    }),
  );

  const finishConnection = withUpstream(async (page, upstream) => {
    const { request, user } = page;
    const { found } = await roundTrips.finish(placeOf(page), upstream, request);
    await linkAccount(user, { upstream, found, request }, identity);
    page.finish('connected');
  });
  router.get('/upstreams/:upstream/return', sessions.page(finishConnection, 'recentSignIn'));

  router.post(
    '/upstreams/:upstream/disconnect',
    form(async (page, upstream) => {
      const { request, response, user } = page;
      const linked = await identity.upstreamLinks.list(user.userId);
      if (await isOnly(user, linked, identity)) {
        sendErrorPage(request, response, 403, 'formRefused');
        return;
      }
      if (await identity.upstreamLinks.unlink(user.userId, upstream.id)) {
        recordLink(user, 'upstream_unlinked', { upstream, request }, identity);
      }
      page.finish('disconnected');
    }),
  );
}
