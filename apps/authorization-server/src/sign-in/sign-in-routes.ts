/**
 * The pages between /authorize or /device and its reply. The provider redirects the browser to
 * /sign-in/{interaction}. A form identifies the user or records the user's decision, and the
 * provider continues from there. The cookie identifies the interaction, never the address alone.
 * The forms carry only what the user typed or pressed, so there is nothing in them to alter. The
 * protocol's own checks are the provider's.
 */

import { type Request, type Response, Router } from 'express';
import type { InteractionResults } from 'oidc-provider';
import { noteFailure, sendErrorPage } from '../pages/error-page.ts';
import { formField as field, parseForm } from '../pages/form-field.ts';
import { formProblems } from '../pages/page-errors.ts';
import { rejectMethods } from '../pages/reject-methods.ts';
import { lifetimes } from '../provider/lifetimes.ts';
import { addressGroupOf } from '../requests/caller.ts';
import { leaveFormerAccount } from './leave-former-account.ts';
import {
  findInteraction,
  type Interaction,
  isAccountChoice,
  type SignInDependencies,
  showAccountChoice,
  showConsent,
  showSignIn,
} from './sign-in-page.ts';

export type { SignInDependencies } from './sign-in-page.ts';

/** As long as an interaction lives. */
const FAILED_SIGN_IN_SECONDS = lifetimes.Interaction;

export function createSignInRoutes(dependencies: SignInDependencies): Router {
  const { csrfTokens } = dependencies;
  const router = Router({ caseSensitive: true, strict: true });

  router.get('/:interaction', async (request, response) => {
    const interaction = await findInteraction(request, response, dependencies);
    if (isAccountChoice(interaction)) {
      await showAccountChoice(request, response, interaction, dependencies);
      return;
    }
    if (interaction.prompt.name !== 'consent') {
      const { login_hint: hint } = interaction.params;
      const username = typeof hint === 'string' ? hint : '';
      await showSignIn(request, response, interaction, dependencies, username);
      return;
    }
    await showConsent(request, response, interaction, dependencies);
  });

  // "Use another account" on the consent page: the same request for another user.
  router.get('/:interaction/account', async (request, response) => {
    const interaction = await findInteraction(request, response, dependencies);
    await showSignIn(request, response, interaction, dependencies);
  });

  addCredentials(router, dependencies);

  router.post('/:interaction/decision', parseForm, async (request, response) => {
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

  addAccountChoice(router, dependencies);
  router.use(rejectMethods(router));
  return router;
}

/** The form for a username and password. After a failure, the browser gets its page again. */
function addCredentials(router: Router, dependencies: SignInDependencies): void {
  const { csrfTokens, signIn, deviceCookies, browserState } = dependencies;

  // The address of the form, which the browser shows after an error such as 429.
  router.get('/:interaction/credentials', (request, response) =>
    response.redirect(303, `/sign-in/${encodeURIComponent(request.params.interaction)}`),
  );

  router.post('/:interaction/credentials', parseForm, async (request, response) => {
    const interaction = await findInteraction(request, response, dependencies);
    if (!csrfTokens.verify(interaction.uid, field(request, 'csrf'))) {
      sendErrorPage(request, response, 403, 'formRefused');
      return;
    }
    const username = field(request, 'username');
    const user = await signIn({
      method: interaction.deviceCode === undefined ? 'page' : 'device_code',
      username,
      password: field(request, 'password'),
      address: addressGroupOf(request),
      device: await deviceCookies.read(request, response),
      clientId: String(interaction.params.client_id),
      request,
    });
    if (user === undefined) {
      noteFailure(request, 'signInFailed', formProblems.signInFailed);
      browserState.failedSignIns.write(
        interaction.uid,
        username.slice(0, 128),
        FAILED_SIGN_IN_SECONDS,
      );
      response.redirect(303, signInAddress(interaction));
      return;
    }
    browserState.failedSignIns.clear(interaction.uid);
    deviceCookies.issue(request, response, user);
    await leaveFormerAccount(user.userId, interaction, dependencies.provider);
    // Right after a sign-out everywhere, this sign-in must count as the later of the two.
    const ts = Math.max(Math.floor(Date.now() / 1000), user.notBefore + 1);
    const login = { accountId: user.userId, ts };
    await finish(request, response, dependencies, { login, select_account: {} });
  });
}

/** The page with the form for a username and password, which a browser can reload. */
function signInAddress(interaction: Interaction): string {
  const isOtherUser = interaction.prompt.name === 'consent' || isAccountChoice(interaction);
  return `/sign-in/${interaction.uid}${isOtherUser ? '/account' : ''}`;
}

/** "Continue as …" on the page for `prompt=select_account`. */
function addAccountChoice(router: Router, dependencies: SignInDependencies): void {
  router.post('/:interaction/choice', parseForm, async (request, response) => {
    const interaction = await findInteraction(request, response, dependencies);
    if (
      !isAccountChoice(interaction) ||
      !dependencies.csrfTokens.verify(interaction.uid, field(request, 'csrf'))
    ) {
      sendErrorPage(request, response, 403, 'formRefused');
      return;
    }
    await finish(request, response, dependencies, { select_account: {} });
  });
}

/** Grants the scopes of the request. The form cannot change them. */
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

/** Replies with 303, so that the browser does not post the form again (RFC 9700 §4.12). */
async function finish(
  request: Request,
  response: Response,
  { provider }: SignInDependencies,
  result: InteractionResults,
): Promise<void> {
  await provider.interactionFinished(request, response, result);
}
