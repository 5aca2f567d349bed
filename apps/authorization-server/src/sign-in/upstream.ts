/**
 * Sign-in with an account at an upstream provider: the buttons of the sign-in page, and the ways of
 * an interaction to a provider and back. The domain of an address alone selects a provider, so the
 * choice reveals nothing about accounts.
 */

import { type Identity, lifetimesOf, type Upstream, type User } from '@gatehouse/identity';
import { fill, type Html, html, plainName } from '@gatehouse/server';
import type { RequestHandler, Router } from 'express';
import { errors } from 'oidc-provider';
import { recordEvent } from '../requests/caller.ts';
import { findUpstream, isOfProvider, refused, userOfAccount } from '../upstream/accounts.ts';
import { sendUpstreamFailure, sendWayTo } from '../upstream/failures.ts';
import type { UpstreamIdentity } from '../upstream/identity.ts';
import { returnAddress } from '../upstream/round-trips.ts';
import {
  type Exchange,
  findInteraction,
  type InteractionPage,
  openPage,
  type SignInDependencies,
} from './interaction.ts';
import { isUserAllowed } from './policy.ts';
import { firstProof } from './step.ts';
import { continueSignIn } from './steps.ts';

/** They submit the form `credentials`. Providers of other organizations cannot sign in to the client. */
export async function upstreamButtons(
  { client, texts }: InteractionPage,
  { settings }: Identity,
): Promise<Html | undefined> {
  const { upstreams } = await settings.read();
  const shown = [...upstreams.values()].filter(
    (each) => each.button && (client?.ownOrganizationOnly !== true || isOfProvider(client, each)),
  );
  const button = ({ id, name }: Upstream) =>
    html`<button class="button" form="credentials" name="upstream" value="${id}" formnovalidate>${fill(texts.upstreamContinue, { provider: plainName(name) })}</button>`;
  return shown.length === 0 ? undefined : html`<p class="actions">${shown.map(button)}</p>`;
}

/**
 * Leads the browser to a provider.
 *
 * @param loginHint what the user typed, or the application knows
 * @param remember whether the session outlives the browser
 */
export function leaveForUpstream(
  exchange: Exchange,
  upstreamId: string,
  loginHint: string,
  remember: boolean,
): Promise<void> {
  const { response, interaction, dependencies } = exchange;
  return withUpstream(exchange, upstreamId, async (upstream) => {
    const { max_age: maxAge, prompt } = interaction.params;
    const wanted = {
      maxAge: maxAge === undefined ? undefined : Number(maxAge),
      isFresh: String(prompt).split(' ').includes('login'),
      remember,
    };
    const hint = loginHint.trim().slice(0, 254) || undefined;
    const address = await dependencies.roundTrips.begin(interaction.uid, upstream, wanted, hint);
    const { texts } = await openPage(exchange);
    sendWayTo(address, upstream, { texts, response });
  });
}

export function addUpstreamReturn(router: Router, dependencies: SignInDependencies): void {
  const { identity, roundTrips } = dependencies;

  router.get('/:interaction/upstream/:upstream/return', async (request, response) => {
    const opening = { request, response, dependencies };
    const exchange = { ...opening, interaction: await findInteraction(opening) };
    const { uid, params } = exchange.interaction;
    await withUpstream(exchange, request.params.upstream, async (upstream) => {
      const { found, remember } = await roundTrips.finish(uid, upstream, request);
      const user = await userOfAccount({ upstream, found, request }, identity);
      if (!(await isUserAllowed(user.orgId, String(params.client_id), identity))) {
        const finding = 'the client signs in no user of this organization';
        throw refused('user_of_another_organization', finding, user);
      }
      const session = await reported(user, { upstream, found }, identity);
      // What the provider proves for our own policy.
      const amr = session.amr.filter((each) => each === 'mfa');
      const proof = { ...firstProof(user, { amr, remember }), upstream: session };
      await continueSignIn({ ...exchange, user, proof });
    });
  });
}

/** Audits a failure. Its page leads to the other ways to sign in. */
async function withUpstream(
  exchange: Exchange,
  id: string,
  work: (upstream: Upstream) => Promise<void>,
): Promise<void> {
  const { request, interaction, dependencies } = exchange;
  try {
    await work(await findUpstream(id, dependencies.identity));
  } catch (error) {
    const address = `/sign-in/${interaction.uid}/account`;
    const failed = sendUpstreamFailure(error, exchange, { address, label: 'upstreamBack' });
    const { reason, userId } = failed;
    if (reason !== undefined) {
      const clientId = String(interaction.params.client_id);
      const event = { event: 'sign_in_failed', method: 'upstream', upstream: id } as const;
      recordEvent(request, { ...event, reason, clientId, userId }, dependencies.identity);
    }
  }
}

/** An old `auth_time` counts as half of a session, so that the session does not end at once. */
async function reported(
  { notBefore }: User,
  { upstream, found }: { readonly upstream: Upstream; readonly found: UpstreamIdentity },
  { settings }: Identity,
) {
  const { authTime, amr } = found;
  const { session } = lifetimesOf((await settings.read()).lifetimes);
  const now = Math.floor(Date.now() / 1000);
  const earliest = Math.max(notBefore + 1, now - Math.floor(session / 2));
  return {
    id: upstream.id,
    // `user` is a passkey that Gatehouse verified.
    amr: amr.filter((each) => each !== 'user' && (upstream.trustsFactors || each !== 'mfa')),
    ...(authTime !== undefined && { authTime: Math.max(Math.min(authTime, now), earliest) }),
  };
}

/** `/upstream/{id}/callback`: continues where the browser has the cookie of its round trip. */
export const upstreamCallback: RequestHandler = (request, response) => {
  const address = returnAddress(request, String(request.params.upstream));
  if (address === undefined) {
    throw new errors.SessionNotFound('no round trip has this state');
  }
  response.redirect(303, address);
};
