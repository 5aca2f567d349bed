/**
 * The pages between /authorize and its answer. The provider sends the browser to /sign-in/{interaction};
 * a form here says who the person is or what they allow; the provider takes it from there.
 * The interaction is found by its cookie, never by the address alone; the forms carry nothing but what the
 * person typed or pressed, so there is nothing in them to alter.
 * Not here: the protocol's own checks (the provider), the words and markup (views/).
 */
import { observedRequest } from '@gatehouse/http-server';
import type { Identity } from '@gatehouse/identity';
import { type Request, type Response, Router, urlencoded } from 'express';
import type Provider from 'oidc-provider';
import { errors, type InteractionResults } from 'oidc-provider';
import { clientAddress } from '../http/client-address.ts';
import { contentSecurityPolicy } from '../http/page-headers.ts';
import type { SignIn } from '../throttle/sign-in-throttle.ts';
import type { CsrfTokens } from './csrf-token.ts';
import { sendErrorPage, textsForRequest } from './error-page.ts';
import { formTargets } from './form-targets.ts';
import { consentView } from './views/consent-view.ts';
import type { Html } from './views/html.ts';
import { renderPage } from './views/layout.ts';
import { signInView } from './views/sign-in-view.ts';

export interface SignInDependencies {
  readonly provider: Provider;
  readonly identity: Identity;
  readonly csrfTokens: CsrfTokens;
  readonly signIn: SignIn;
}

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

export function createSignInRoutes(dependencies: SignInDependencies): Router {
  const { csrfTokens, signIn } = dependencies;
  const router = Router({ caseSensitive: true, strict: true });
  const form = urlencoded({ extended: false, limit: '16kb', parameterLimit: 20 });

  router.get('/:interaction', async (request, response) => {
    const interaction = await findInteraction(request, response, dependencies);
    if (interaction.prompt.name === 'login') {
      const suggested = interaction.params.login_hint;
      const username = typeof suggested === 'string' ? suggested : '';
      await showSignIn(request, response, interaction, dependencies, { username, failed: false });
      return;
    }
    await showConsent(request, response, interaction, dependencies);
  });

  router.post('/:interaction/credentials', form, async (request, response) => {
    const interaction = await findInteraction(request, response, dependencies);
    if (!csrfTokens.verify(interaction.uid, field(request, 'csrf'))) {
      sendErrorPage(request, response, 403, 'formRefused');
      return;
    }
    const username = field(request, 'username');
    const user = await signIn({
      method: 'page',
      username,
      password: field(request, 'password'),
      address: clientAddress(request),
      clientId: String(interaction.params.client_id),
      request,
    });
    if (user === undefined) {
      await showSignIn(request, response, interaction, dependencies, { username, failed: true });
      return;
    }
    await finish(request, response, dependencies, { login: { accountId: user.userId } });
  });

  router.post('/:interaction/decision', form, async (request, response) => {
    const interaction = await findInteraction(request, response, dependencies);
    if (
      interaction.prompt.name !== 'consent' ||
      !csrfTokens.verify(interaction.uid, field(request, 'csrf'))
    ) {
      sendErrorPage(request, response, 403, 'formRefused');
      return;
    }
    const result =
      field(request, 'decision') === 'allow'
        ? { consent: { grantId: await grant(interaction, dependencies) } }
        : { error: 'access_denied', error_description: 'The person denied the request.' };
    await finish(request, response, dependencies, result);
  });

  return router;
}

/** The cookie decides; the address must agree, so that one browser's link opens nothing in another. */
async function findInteraction(
  request: Request,
  response: Response,
  { provider }: SignInDependencies,
): Promise<Interaction> {
  const interaction = await provider.interactionDetails(request, response);
  if (interaction.uid !== request.params.interaction) {
    throw new errors.SessionNotFound('another interaction');
  }
  const clientId = interaction.params.client_id;
  observedRequest(request).notes.clientId = String(clientId);
  return interaction;
}

async function showSignIn(
  request: Request,
  response: Response,
  interaction: Interaction,
  { identity, csrfTokens }: SignInDependencies,
  state: { readonly username: string; readonly failed: boolean },
): Promise<void> {
  const { language, texts } = textsForRequest(request);
  const client = await identity.clients.find(String(interaction.params.client_id));
  const content = signInView(
    {
      clientName: client?.name ?? '',
      action: `/sign-in/${interaction.uid}/credentials`,
      csrfToken: csrfTokens.issue(interaction.uid),
      ...state,
    },
    texts,
  );
  response.status(state.failed ? 422 : 200);
  send(response, interaction, { language, title: texts.signInTitle, content });
}

async function showConsent(
  request: Request,
  response: Response,
  interaction: Interaction,
  { identity, csrfTokens }: SignInDependencies,
): Promise<void> {
  const { language, texts } = textsForRequest(request);
  const client = await identity.clients.find(String(interaction.params.client_id));
  const user = await identity.users.find(interaction.session?.accountId ?? '');
  const content = consentView(
    {
      clientName: client?.name ?? '',
      clientId: client?.clientId ?? '',
      userName: user?.name ?? '',
      returnsTo: URL.parse(String(interaction.params.redirect_uri))?.host ?? '',
      scopes: String(interaction.params.scope ?? '').split(' '),
      action: `/sign-in/${interaction.uid}/decision`,
      csrfToken: csrfTokens.issue(interaction.uid),
    },
    texts,
  );
  send(response, interaction, { language, title: client?.name ?? texts.allow, content });
}

function send(
  response: Response,
  interaction: Interaction,
  page: { language: string; title: string; content: Html },
): void {
  const targets = formTargets(interaction.params.redirect_uri);
  response.set('Content-Security-Policy', contentSecurityPolicy(targets));
  response.type('html').end(renderPage(page));
}

/** Grants what was asked for: the form's own words are not listened to. */
async function grant(interaction: Interaction, { provider }: SignInDependencies): Promise<string> {
  const existing =
    interaction.grantId === undefined ? undefined : await provider.Grant.find(interaction.grantId);
  const granted =
    existing ??
    new provider.Grant({
      accountId: interaction.session?.accountId ?? '',
      clientId: String(interaction.params.client_id),
    });
  const { missingOIDCScope, missingOIDCClaims } = interaction.prompt.details;
  if (Array.isArray(missingOIDCScope)) {
    granted.addOIDCScope(missingOIDCScope.join(' '));
  }
  if (Array.isArray(missingOIDCClaims)) {
    granted.addOIDCClaims(missingOIDCClaims);
  }
  return granted.save();
}

/** 303: what was typed must not be posted on (RFC 9700 §4.12). */
async function finish(
  request: Request,
  response: Response,
  { provider }: SignInDependencies,
  result: InteractionResults,
): Promise<void> {
  await provider.interactionFinished(request, response, result);
}

function field(request: Request, name: string): string {
  const value: unknown = request.body?.[name];
  return typeof value === 'string' ? value : '';
}
