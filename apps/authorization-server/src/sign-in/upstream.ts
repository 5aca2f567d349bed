/**
 * Sign-in with an account at an upstream provider: the buttons of the sign-in page, the choice of a
 * provider by the domain of an address, and the pages of an interaction before and after the
 * provider. The domain alone decides, so the choice reveals nothing about accounts.
 */
import {
  emailDomain,
  type Identity,
  lifetimesOf,
  organizationsOf,
  type Upstream,
  type User,
} from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import type { RequestHandler, Router } from 'express';
import { errors } from 'oidc-provider';
import { noteFailure, sendErrorPage } from '../pages/error-page.ts';
import { fill, type Html, html, plainName } from '../pages/html.ts';
import { requestOrigin } from '../requests/caller.ts';
import { AccountRefusedError } from '../upstream/accounts.ts';
import { callbackOf, failureOf } from '../upstream/failures.ts';
import type { UpstreamIdentity } from '../upstream/identity.ts';
import { ACCOUNT_PLACE, ACCOUNT_UPSTREAMS_PATH, placeOf } from '../upstream/round-trips.ts';
import {
  type Exchange,
  findInteraction,
  type Interaction,
  type InteractionPage,
  type SignInDependencies,
} from './interaction.ts';
import { isUserAllowed } from './policy.ts';
import { firstProof } from './step.ts';
import { continueSignIn } from './steps.ts';

/** Below the form for a password. Providers of other organizations cannot sign in to the client. */
export async function upstreamButtons(
  { interaction, client, texts }: InteractionPage,
  { settings }: Identity,
): Promise<Html | undefined> {
  const { upstreams } = await settings.read();
  const shown = [...upstreams.values()].filter((each) => {
    const organizations = organizationsOf(each);
    const isForClient =
      client?.ownOrganizationOnly !== true ||
      organizations.size === 0 ||
      organizations.has(client.orgId);
    return each.button && isForClient;
  });
  const link = ({ id, name }: Upstream) =>
    html`<a class="button" href="${upstreamAddress(interaction, id)}">${fill(texts.upstreamContinue, { provider: plainName(name) })}</a>`;
  return shown.length === 0 ? undefined : html`<p class="actions">${shown.map(link)}</p>`;
}

/** Where the owner of this address signs in. Undefined: here. */
export async function upstreamOf(
  email: string,
  interaction: Interaction,
  { settings }: Pick<Identity, 'settings'>,
): Promise<string | undefined> {
  const domain = emailDomain(email);
  const { upstreams } = await settings.read();
  const found = [...upstreams.values()].find(
    ({ emailDomains }) => domain !== undefined && emailDomains.includes(domain),
  );
  return (
    found &&
    `${upstreamAddress(interaction, found.id)}?${new URLSearchParams({ hint: email.trim() })}`
  );
}

/** Whether an address alone can select a provider, so that the form needs no password. */
export async function hasUpstreamDomains({ settings }: Identity): Promise<boolean> {
  const { upstreams } = await settings.read();
  return [...upstreams.values()].some(({ emailDomains }) => emailDomains.length > 0);
}

const upstreamAddress = ({ uid }: Interaction, id: string) => `/sign-in/${uid}/upstream/${id}`;

export function addUpstreamPages(router: Router, dependencies: SignInDependencies): void {
  const { identity, roundTrips, upstreamAccounts } = dependencies;
  const page = createProviderPage(dependencies);

  router.get(
    '/:interaction/upstream/:upstream',
    page(async ({ request, response, interaction }, upstream) => {
      const { login_hint: requested, max_age: maxAge, prompt } = interaction.params;
      const hint = request.query.hint ?? requested;
      const address = await roundTrips.begin({ id: interaction.uid }, upstream, {
        loginHint: typeof hint === 'string' ? hint.slice(0, 254) : undefined,
        maxAge: maxAge === undefined ? undefined : Number(maxAge),
        isFresh: String(prompt ?? '')
          .split(' ')
          .includes('login'),
      });
      response.redirect(303, address);
    }),
  );

  router.get(
    '/:interaction/upstream/:upstream/return',
    page(async (exchange, upstream) => {
      const { request, interaction } = exchange;
      const found = await roundTrips.finish({ id: interaction.uid }, upstream, callbackOf(request));
      const origin = requestOrigin(request);
      const user = await upstreamAccounts.find({ upstream, found, origin });
      if (!(await isUserAllowed(user.orgId, String(interaction.params.client_id), identity))) {
        throw new AccountRefusedError('user_of_another_organization', user.userId);
      }
      const proof = {
        ...firstProof(user, { amr: factorsOf(upstream, found), remember: true }),
        upstream: await reported(user, { upstream, found }, identity),
      };
      await continueSignIn({ ...exchange, user, proof });
    }),
  );
}

type ProviderPage = (exchange: Exchange, upstream: Upstream) => Promise<void>;

/** Opens interaction and provider of a page. Errors are pages that lead to the other ways. */
function createProviderPage(dependencies: SignInDependencies) {
  const { identity } = dependencies;

  function sendFailure(error: unknown, exchange: Exchange, upstream: string) {
    const { request, response, interaction } = exchange;
    const { reason, userId, message, status, finding } = failureOf(error);
    if (reason !== undefined) {
      const clientId = String(interaction.params.client_id);
      const event = { event: 'sign_in_failed', method: 'upstream', upstream } as const;
      identity.audit.record({ ...event, reason, clientId, userId }, requestOrigin(request));
      noteFailure(request, message, reason);
    }
    observedRequest(request).notes.finding = finding;
    const next = { address: `/sign-in/${interaction.uid}/account`, label: 'upstreamBack' } as const;
    sendErrorPage(request, response, status, message, next);
  }

  return (handle: ProviderPage): RequestHandler =>
    async (request, response) => {
      const opening = { request, response, dependencies };
      const exchange = { ...opening, interaction: await findInteraction(opening) };
      const upstream = (await identity.settings.read()).upstreams.get(
        String(request.params.upstream),
      );
      if (upstream === undefined) {
        sendErrorPage(request, response, 404, 'notFound');
        return;
      }
      try {
        await handle(exchange, upstream);
      } catch (error) {
        sendFailure(error, exchange, upstream.id);
      }
    };
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

/** What the provider proves for our own policy. */
function factorsOf({ trustsFactors }: Upstream, { amr }: UpstreamIdentity): string[] {
  return trustsFactors && amr.includes('mfa') ? ['mfa'] : [];
}

/** `/upstream/{id}/callback`: continues where the browser has the cookies of its round trip. */
export const upstreamCallback: RequestHandler = (request, response) => {
  const { query } = callbackOf(request);
  const place = placeOf(query);
  if (place === undefined) {
    throw new errors.SessionNotFound('no round trip has this state');
  }
  const id = encodeURIComponent(String(request.params.upstream));
  const path =
    place === ACCOUNT_PLACE
      ? `${ACCOUNT_UPSTREAMS_PATH}/${id}`
      : `/sign-in/${place}/upstream/${id}`;
  response.redirect(303, `${path}/return?${query}`);
};
