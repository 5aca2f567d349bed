/** The page that asks the user to allow what the application requests, and the decision. */

import { documentHost, isScopeForRoles, lifetimesOf } from '@gatehouse/identity';
import { fill, foreignName, html, plainName, sentence } from '@gatehouse/server';
import type { RequestHandler } from 'express';
import { formField, scopeList } from '../pages/page.ts';
import type { Texts } from '../pages/texts-en.ts';
import { scopesOfClaims } from '../provider/claims.ts';
import { keepDocument } from '../provider/metadata-documents.ts';
import { grantResourceScopes } from '../provider/resources.ts';
import { createGrant } from '../provider/times-to-live.ts';
import {
  type Interaction,
  type InteractionPage,
  interactionForm,
  type SignInDependencies,
} from './interaction.ts';

/**
 * Shows the client's id and organization next to its name: names can imitate each other, ids cannot
 * (ASVS 10.7.2). Everything that the user needs for the decision is above the buttons.
 */
export async function showConsent(
  page: InteractionPage,
  { identity }: SignInDependencies,
): Promise<void> {
  const { interaction, client, texts } = page;
  const organization = await identity.organizations.find(client?.orgId ?? '');
  const user = await identity.users.find(interaction.session?.accountId ?? '');
  const settings = await identity.settings.read();
  const roles = user?.roles ?? [];
  const clientName = client?.name ?? '';
  const { scope = '', claims, redirect_uri: redirectUri } = interaction.params;
  // Claims that the application requests one by one are shown as the scope that contains them.
  const requested = new Set([...String(scope).split(' '), ...scopesOfClaims(claims)]);
  const scopes = [...requested].filter((each) => isScopeForRoles(each, roles, settings));
  const address = `/sign-in/${interaction.uid}`;
  const name = html`<strong>${foreignName(user?.name ?? '')}</strong>`;
  const host = destinationOf(redirectUri);
  const destination =
    host === undefined ? html`${texts.consentToDevice}` : html`<bdi translate="no">${host}</bdi>`;
  const heading = html`<h1>${sentence(texts.consentTitle, { client: foreignName(clientName) })}</h1>`;
  // Such a client chose its name.
  const site = client?.document && documentHost(client.clientId, settings);
  const owner = foreignName(organization?.name ?? client?.orgId ?? '');
  const content = html`${site && siteNotice(site, texts)}<p class="person"><span>${sentence(texts.signedInAs, { name })}</span> <a href="${address}/account">${texts.useAnotherAccount}</a></p>
<p class="before-list">${texts.consentLead}</p>
${scopeList(scopes, texts, settings)}
<dl class="origin">
${site ? undefined : html`<div><dt>${texts.organization}</dt><dd>${owner}</dd></div>`}
<div><dt>${texts.consentDestination}</dt><dd>${destination}</dd></div>
<div><dt>${texts.consentApplicationId}</dt><dd translate="no">${client?.clientId ?? ''}</dd></div>
</dl>
<form class="choice" method="post" action="${address}/decision">
${page.csrf}
<button class="primary" type="submit" name="decision" value="allow">${texts.allow}</button>
<button type="submit" name="decision" value="deny">${texts.deny}</button>
</form>
<p class="small">${texts.endAnyTime}</p>`;
  page.send(fill(texts.consentTitle, { client: plainName(clientName) }), content, { heading });
}

/** The host whose document describes the client, and a warning if no operator listed it. */
const siteNotice = ({ host, isListed }: { host: string; isListed: boolean }, texts: Texts) =>
  html`<p class="hint">${texts.consentSite}</p>
<p class="site"><bdi translate="no">${host}</bdi></p>
${isListed ? undefined : html`<p class="warning">${texts.consentUnknownSite}</p>`}
`;

/** The host of a web address, or the scheme of an app. A device has no redirect URI. */
function destinationOf(redirectUri: unknown): string | undefined {
  const url = typeof redirectUri === 'string' ? URL.parse(redirectUri) : null;
  return url === null ? undefined : url.host || url.protocol;
}

/** The user's decision. */
export function decide(dependencies: SignInDependencies): RequestHandler {
  return interactionForm(
    dependencies,
    async ({ request, response, interaction }) => {
      const result =
        formField(request, 'decision') === 'allow'
          ? { consent: { grantId: await grant(interaction, dependencies) } }
          : { error: 'access_denied', error_description: 'The person denied the request.' };
      await dependencies.provider.interactionFinished(request, response, result);
    },
    ({ prompt }) => prompt.name === 'consent',
  );
}

/** Grants the scopes of the request. The form cannot change them. */
async function grant(
  interaction: Interaction,
  { provider, identity }: SignInDependencies,
): Promise<string> {
  const accountId = interaction.session?.accountId ?? '';
  const clientId = String(interaction.params.client_id);
  const client = await identity.clients.find(clientId);
  const settings = await identity.settings.read();
  const existing =
    interaction.grantId === undefined ? undefined : await provider.Grant.find(interaction.grantId);
  const lifetimes = lifetimesOf(settings.lifetimes, client?.lifetimes);
  const granted = existing ?? createGrant(provider, { accountId, clientId }, lifetimes);
  if (client?.document !== undefined) {
    await keepDocument(client, accountId, identity);
  }
  const { missingOIDCScope, missingOIDCClaims, missingResourceScopes } = interaction.prompt.details;
  if (Array.isArray(missingOIDCScope)) {
    granted.addOIDCScope(missingOIDCScope.join(' '));
  }
  if (Array.isArray(missingOIDCClaims)) {
    granted.addOIDCClaims(missingOIDCClaims);
  }
  grantResourceScopes(granted, (missingResourceScopes ?? {}) as Record<string, readonly string[]>, {
    roles: (await identity.users.find(accountId))?.roles ?? [],
    settings,
  });
  return granted.save();
}
