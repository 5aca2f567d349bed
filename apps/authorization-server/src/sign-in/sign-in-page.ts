import type { Identity } from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import type { Request, Response } from 'express';
import type Provider from 'oidc-provider';
import { errors } from 'oidc-provider';
import { contentSecurityPolicy } from '../http/page-headers.ts';
import type { CsrfTokens } from '../pages/csrf-token.ts';
import { plainName } from '../pages/foreign-name.ts';
import { formTargets } from '../pages/form-targets.ts';
import type { Html } from '../pages/html.ts';
import { pageLanguage } from '../pages/language.ts';
import { renderPage } from '../pages/layout.ts';
import { fill } from '../pages/texts.ts';
import { ACCOUNT_CLIENT_ID } from '../provider/policy/account-client.ts';
import type { BrowserState } from '../provider/policy/cookies.ts';
import { scopesOfClaims } from '../provider/policy/requested-claims.ts';
import type { SignIn } from '../throttle/sign-in-throttle.ts';
import { chooseAccountView } from './choose-account-view.ts';
import { consentView } from './consent-view.ts';
import type { DeviceCookies } from './device-cookie.ts';
import { signInView } from './sign-in-view.ts';
import { interactionGone } from './start-address.ts';

export interface SignInDependencies {
  readonly provider: Provider;
  readonly identity: Identity;
  readonly csrfTokens: CsrfTokens;
  readonly signIn: SignIn;
  readonly deviceCookies: DeviceCookies;
  readonly browserState: Pick<BrowserState, 'interactions' | 'failedSignIns'>;
}

export type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

/** The address must match the cookie, so that a link from one browser opens nothing in another. */
export async function findInteraction(
  request: Request,
  response: Response,
  { provider, browserState }: SignInDependencies,
): Promise<Interaction> {
  const uid = String(request.params.interaction);
  const interaction = await provider.interactionDetails(request, response).catch((error) => {
    const record = browserState.interactions.read(uid);
    throw error instanceof errors.SessionNotFound && record !== undefined
      ? interactionGone(JSON.parse(record))
      : error;
  });
  if (interaction.uid !== uid) {
    observedRequest(request).notes.reason = 'sign_in_expired';
    throw new errors.SessionNotFound('another interaction');
  }
  const clientId = interaction.params.client_id;
  observedRequest(request).notes.clientId = String(clientId);
  return interaction;
}

export async function showSignIn(
  request: Request,
  response: Response,
  interaction: Interaction,
  { identity, csrfTokens, browserState }: SignInDependencies,
  suggestedName = '',
): Promise<void> {
  const { language, texts } = pageLanguage(request, interaction.params.ui_locales);
  const client = await identity.clients.find(String(interaction.params.client_id));
  const failedName = browserState.failedSignIns.read(interaction.uid);
  const content = signInView(
    {
      clientName: client?.clientId === ACCOUNT_CLIENT_ID ? undefined : (client?.name ?? ''),
      action: `/sign-in/${interaction.uid}/credentials`,
      csrfToken: csrfTokens.issue(interaction.uid),
      username: failedName ?? suggestedName,
      failed: failedName !== undefined,
    },
    texts,
  );
  send(response, interaction, { language, title: texts.signInTitle, content });
}

/** Whether the page lets the user choose: the application asks for it, and a user is signed in. */
export function isAccountChoice({ prompt, session }: Interaction): boolean {
  return prompt.name === 'select_account' && session?.accountId !== undefined;
}

export async function showAccountChoice(
  request: Request,
  response: Response,
  interaction: Interaction,
  { identity, csrfTokens }: SignInDependencies,
): Promise<void> {
  const { language, texts } = pageLanguage(request, interaction.params.ui_locales);
  const client = await identity.clients.find(String(interaction.params.client_id));
  const user = await identity.users.find(interaction.session?.accountId ?? '');
  const content = chooseAccountView(
    {
      clientName: client?.name ?? '',
      userName: user?.name ?? '',
      action: `/sign-in/${interaction.uid}/choice`,
      switchAddress: `/sign-in/${interaction.uid}/account`,
      csrfToken: csrfTokens.issue(interaction.uid),
    },
    texts,
  );
  send(response, interaction, { language, title: texts.chooseAccountTitle, content });
}

export async function showConsent(
  request: Request,
  response: Response,
  interaction: Interaction,
  { identity, csrfTokens }: SignInDependencies,
): Promise<void> {
  const { language, texts } = pageLanguage(request, interaction.params.ui_locales);
  const client = await identity.clients.find(String(interaction.params.client_id));
  const organization = await identity.organizations.find(client?.orgId ?? '');
  const user = await identity.users.find(interaction.session?.accountId ?? '');
  const clientName = client?.name ?? '';
  const content = consentView(
    {
      clientName,
      clientId: client?.clientId ?? '',
      organizationName: organization?.name ?? client?.orgId ?? '',
      userName: user?.name ?? '',
      returnsTo: destinationOf(interaction.params.redirect_uri),
      scopes: requestedScopes(interaction),
      action: `/sign-in/${interaction.uid}/decision`,
      switchAddress: `/sign-in/${interaction.uid}/account`,
      csrfToken: csrfTokens.issue(interaction.uid),
    },
    texts,
  );
  const title = fill(texts.consentTitle, { client: plainName(clientName) });
  send(response, interaction, { language, title, content });
}

/** Claims that the application requests one by one are shown as the scope that contains them. */
function requestedScopes({ params }: Interaction): readonly string[] {
  const scopes = String(params.scope ?? '').split(' ');
  return [...new Set([...scopes, ...scopesOfClaims(params.claims)])];
}

/** The host of a web address, or the scheme of an app. A device has no redirect URI. */
function destinationOf(redirectUri: unknown): string | undefined {
  const url = typeof redirectUri === 'string' ? URL.parse(redirectUri) : null;
  return url === null ? undefined : url.host || url.protocol;
}

function send(
  response: Response,
  interaction: Interaction,
  page: { language: string; title: string; content: Html },
): void {
  const targets = formTargets(interaction.params.redirect_uri);
  response.set('Content-Security-Policy', contentSecurityPolicy({ formTargets: targets }));
  response.type('html').end(renderPage(page));
}
