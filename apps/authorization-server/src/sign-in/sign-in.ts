/**
 * How an interaction identifies the user: the page for a username and password, and the page to
 * continue as the user of this browser (`prompt=select_account`). It also has the routes of all
 * pages of an interaction.
 */

import { emailDomain } from '@gatehouse/identity';
import { foreignName, html, sentence } from '@gatehouse/server';
import { type Request, Router } from 'express';
import { PASSKEY_SCRIPT_PATH } from '../pages/assets.ts';
import { formProblems, noteFailure, rejectMethods } from '../pages/error-page.ts';
import { formField, parseForm, problemNotice } from '../pages/page.ts';
import { passwordField, passwordScripts } from '../pages/password-field.ts';
import { ACCOUNT_CLIENT_ID } from '../provider/clients.ts';
import { lifetimes } from '../requests/lifetimes.ts';
import { decide, showConsent } from './consent.ts';
import {
  attemptOf,
  type Exchange,
  type Interaction,
  type InteractionPage,
  interactionForm,
  openPage,
  type SignInDependencies,
} from './interaction.ts';
import { checkPostedPasskey, passkeyButton } from './passkey.ts';
import { accountLinks, addRegistration } from './register.ts';
import { firstProof } from './step.ts';
import { addSteps, continueSignIn } from './steps.ts';
import { addUpstreamReturn, leaveForUpstream, upstreamButtons } from './upstream.ts';

export function createSignInRoutes(dependencies: SignInDependencies): Router {
  const router = Router({ caseSensitive: true, strict: true });

  router.get('/:interaction', async (request, response) => {
    const page = await openPage({ request, response, dependencies });
    const { prompt, params } = page.interaction;
    if (isAccountChoice(page.interaction)) {
      await showAccountChoice(page, dependencies);
    } else if (prompt.name === 'consent') {
      await showConsent(page, dependencies);
    } else {
      const { interaction } = page;
      const loginHint = typeof params.login_hint === 'string' ? params.login_hint : '';
      const elsewhere = await upstreamOf(loginHint, dependencies);
      const hasFailed = dependencies.browserState.failedSignIns.read(interaction.uid);
      if (elsewhere !== undefined && hasFailed === undefined) {
        const exchange = { request, response, interaction, dependencies };
        // As the form suggests.
        await leaveForUpstream(exchange, elsewhere, loginHint, true);
        return;
      }
      await showSignIn(request, page, dependencies, loginHint);
    }
  });

  // "Use another account" on the consent page: the same request for another user.
  router.get('/:interaction/account', async (request, response) =>
    showSignIn(request, await openPage({ request, response, dependencies }), dependencies),
  );

  // The addresses of the forms, which the browser shows after an error such as 429.
  router.get(['/:interaction/credentials', '/:interaction/passkey'], (request, response) =>
    response.redirect(303, `/sign-in/${encodeURIComponent(String(request.params.interaction))}`),
  );

  router.post(
    '/:interaction/credentials',
    parseForm,
    interactionForm(dependencies, checkCredentials),
  );

  router.post(
    '/:interaction/passkey',
    parseForm,
    interactionForm(dependencies, async (exchange) => {
      const { request, response, interaction } = exchange;
      const checked = await checkPostedPasskey(exchange);
      if (checked === undefined) {
        response.redirect(303, `${signInAddress(interaction)}?failed=passkey`);
        return;
      }
      const { user, amr } = checked;
      dependencies.browserState.failedSignIns.clear(interaction.uid);
      const proof = firstProof(user, { amr, remember: isRemembered(request) });
      await continueSignIn({ ...exchange, user, proof });
    }),
  );

  addSteps(router, dependencies);
  addRegistration(router, dependencies);
  addUpstreamReturn(router, dependencies);

  router.post('/:interaction/decision', parseForm, decide(dependencies));

  // "Continue as …".
  const keepAccount = { select_account: {} };
  router.post(
    '/:interaction/choice',
    parseForm,
    interactionForm(
      dependencies,
      ({ request, response }) =>
        dependencies.provider.interactionFinished(request, response, keepAccount),
      isAccountChoice,
    ),
  );

  router.use(rejectMethods(router));
  return router;
}

async function showSignIn(
  request: Request,
  page: InteractionPage,
  dependencies: SignInDependencies,
  suggestedName = '',
): Promise<void> {
  const { interaction, client, texts } = page;
  const failedName = dependencies.browserState.failedSignIns.read(interaction.uid);
  const hasFailed = failedName !== undefined;
  const username = failedName ?? suggestedName;
  const name = html`<strong>${foreignName(client?.name ?? '')}</strong>`;
  const lead =
    client?.clientId === ACCOUNT_CLIENT_ID
      ? html`${texts.signInLeadAccount}`
      : sentence(texts.signInLead, { client: name });
  const passkeys = await passkeyButton(page, dependencies);
  const wrongPassword = html`${texts.signInFailed}<br>${texts.signInFailedWait} ${page.help}`;
  const wrongPasskey =
    request.query.failed === 'passkey' ? html`${texts.passkeyFailed}` : undefined;
  // The page does not reveal which of the two is wrong, so it marks both.
  const invalid = hasFailed ? html` aria-invalid="true" aria-describedby="problem"` : undefined;
  const focus = html` autofocus`;
  // The address of another provider needs none.
  const isRequired = (await dependencies.identity.settings.read()).upstreamOfDomain.size === 0;
  const password = passwordField(texts, {
    id: 'password',
    label: texts.password,
    isRequired,
    attributes: html` autocomplete="current-password"${invalid}${username === '' ? undefined : focus}`,
  });
  const content = html`<p class="lead">${lead}</p>
${problemNotice(hasFailed ? wrongPassword : wrongPasskey)}
<form id="credentials" class="credentials" method="post" action="/sign-in/${interaction.uid}/credentials">
${page.csrf}
<label for="username">${texts.username}</label>
<input id="username" name="username" type="text" autocomplete="${passkeys ? 'username webauthn' : 'username'}" autocapitalize="none" autocorrect="off" spellcheck="false" required maxlength="128" value="${username}"${invalid}${username === '' ? focus : undefined}>
${password}
<label class="check"><input name="remember" type="checkbox" value="yes" checked> ${texts.rememberMe}</label>
<button class="primary" type="submit">${texts.signIn}</button>
</form>
${passkeys}
${await upstreamButtons(page, dependencies.identity)}
${await accountLinks(page, dependencies)}`;
  const scripts = passkeys ? [...passwordScripts, PASSKEY_SCRIPT_PATH] : passwordScripts;
  page.send(texts.signIn, content, { scripts });
}

/** After a failure, the browser gets its page again. */
async function checkCredentials(exchange: Exchange): Promise<void> {
  const { request, response, interaction, dependencies } = exchange;
  const { signIn, browserState } = dependencies;
  const username = formField(request, 'username');
  const password = formField(request, 'password');
  const remember = isRemembered(request);
  const chosen = formField(request, 'upstream');
  const elsewhere = chosen || (await upstreamOf(username, dependencies));
  if (elsewhere && (chosen || password === '')) {
    await leaveForUpstream(exchange, elsewhere, username, remember);
    return;
  }
  const user = await signIn({ username, password, ...(await attemptOf(exchange)) });
  if (user === undefined) {
    noteFailure(request, 'signInFailed', formProblems.signInFailed);
    if (elsewhere !== undefined) {
      // Whether there is such an account or not.
      await leaveForUpstream(exchange, elsewhere, username, remember);
      return;
    }
    const name = username.slice(0, 128);
    browserState.failedSignIns.write(interaction.uid, name, lifetimes.Interaction);
    response.redirect(303, signInAddress(interaction));
    return;
  }
  browserState.failedSignIns.clear(interaction.uid);
  const proof = firstProof(user, { amr: ['pwd'], remember });
  await continueSignIn({ ...exchange, user, proof });
}

/** The provider where the owner of this address signs in. Undefined: here. */
async function upstreamOf(
  email: string,
  { identity }: SignInDependencies,
): Promise<string | undefined> {
  const { upstreamOfDomain } = await identity.settings.read();
  return upstreamOfDomain.get(emailDomain(email) ?? '');
}

const isRemembered = (request: Request) => formField(request, 'remember') === 'yes';

/** The page with the form for a username and password, which a browser can reload. */
function signInAddress(interaction: Interaction): string {
  const isOtherUser = interaction.prompt.name === 'consent' || isAccountChoice(interaction);
  return `/sign-in/${interaction.uid}${isOtherUser ? '/account' : ''}`;
}

/** Whether the page lets the user choose: the application asks for it, and a user is signed in. */
function isAccountChoice({ prompt, session }: Interaction): boolean {
  return prompt.name === 'select_account' && session?.accountId !== undefined;
}

async function showAccountChoice(
  page: InteractionPage,
  { identity }: SignInDependencies,
): Promise<void> {
  const { interaction, client, texts } = page;
  const user = await identity.users.find(interaction.session?.accountId ?? '');
  const name = html`<strong>${foreignName(client?.name ?? '')}</strong>`;
  const address = `/sign-in/${interaction.uid}`;
  const content = html`<p class="lead">${sentence(texts.signInLead, { client: name })}</p>
<form method="post" action="${address}/choice">
${page.csrf}
<button class="primary" type="submit"><span>${sentence(texts.keepAccount, { name: foreignName(user?.name ?? '') })}</span></button>
</form>
<p class="actions"><a href="${address}/account">${texts.useAnotherAccount}</a></p>`;
  page.send(texts.chooseAccountTitle, content);
}
