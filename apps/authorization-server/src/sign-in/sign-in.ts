/**
 * How an interaction identifies the user: the page for a username and password, and the page to
 * continue as the user of this browser (`prompt=select_account`). It also has the routes of all
 * pages of an interaction.
 */
import { type Request, type Response, Router } from 'express';
import { formProblems, noteFailure, rejectMethods } from '../pages/error-page.ts';
import { foreignName, html, sentence } from '../pages/html.ts';
import { formField, parseForm, problemNotice } from '../pages/page.ts';
import { passwordField, passwordScripts } from '../pages/password-field.ts';
import { ACCOUNT_CLIENT_ID } from '../provider/clients.ts';
import { lifetimes } from '../requests/lifetimes.ts';
import { decide, showConsent } from './consent.ts';
import {
  type Interaction,
  type InteractionPage,
  interactionForm,
  openPage,
  type SignInDependencies,
} from './interaction.ts';
import { firstProof } from './step.ts';
import { addSteps, continueSignIn } from './steps.ts';

export function createSignInRoutes(dependencies: SignInDependencies): Router {
  const router = Router({ caseSensitive: true, strict: true });

  router.get('/:interaction', async (request, response) => {
    const page = await openPage(request, response, dependencies);
    const { prompt, params } = page.interaction;
    if (isAccountChoice(page.interaction)) {
      await showAccountChoice(page, dependencies);
    } else if (prompt.name === 'consent') {
      await showConsent(page, dependencies);
    } else {
      const { login_hint: hint } = params;
      showSignIn(page, dependencies, typeof hint === 'string' ? hint : '');
    }
  });

  // "Use another account" on the consent page: the same request for another user.
  router.get('/:interaction/account', async (request, response) =>
    showSignIn(await openPage(request, response, dependencies), dependencies),
  );

  // The address of the form, which the browser shows after an error such as 429.
  router.get('/:interaction/credentials', (request, response) =>
    response.redirect(303, `/sign-in/${encodeURIComponent(request.params.interaction)}`),
  );

  router.post(
    '/:interaction/credentials',
    parseForm,
    interactionForm(dependencies, (request, response, interaction) =>
      checkCredentials(request, response, interaction, dependencies),
    ),
  );

  addSteps(router, dependencies);

  router.post('/:interaction/decision', parseForm, decide(dependencies));

  // "Continue as …".
  const keepAccount = { select_account: {} };
  router.post(
    '/:interaction/choice',
    parseForm,
    interactionForm(
      dependencies,
      (request, response) =>
        dependencies.provider.interactionFinished(request, response, keepAccount),
      isAccountChoice,
    ),
  );

  router.use(rejectMethods(router));
  return router;
}

function showSignIn(
  page: InteractionPage,
  { browserState }: SignInDependencies,
  suggestedName = '',
): void {
  const { interaction, client, texts } = page;
  const failedName = browserState.failedSignIns.read(interaction.uid);
  const hasFailed = failedName !== undefined;
  const username = failedName ?? suggestedName;
  const name = html`<strong>${foreignName(client?.name ?? '')}</strong>`;
  const lead =
    client?.clientId === ACCOUNT_CLIENT_ID
      ? html`${texts.signInLeadAccount}`
      : sentence(texts.signInLead, { client: name });
  const problem = html`${texts.signInFailed}<br>${texts.signInFailedWait} ${page.help}`;
  // The page does not reveal which of the two is wrong, so it marks both.
  const invalid = hasFailed ? html` aria-invalid="true" aria-describedby="problem"` : undefined;
  const focus = html` autofocus`;
  const password = passwordField(texts, {
    id: 'password',
    label: texts.password,
    attributes: html` autocomplete="current-password"${invalid}${username === '' ? undefined : focus}`,
  });
  const content = html`<p class="lead">${lead}</p>
${problemNotice(hasFailed ? problem : undefined)}
<form class="credentials" method="post" action="/sign-in/${interaction.uid}/credentials">
${page.csrf}
<label for="username">${texts.username}</label>
<input id="username" name="username" type="text" autocomplete="username" autocapitalize="none" autocorrect="off" spellcheck="false" required maxlength="128" value="${username}"${invalid}${username === '' ? focus : undefined}>
${password}
<label class="check"><input name="remember" type="checkbox" value="yes" checked> ${texts.rememberMe}</label>
<button class="primary" type="submit">${texts.signIn}</button>
</form>`;
  page.send(texts.signIn, content, { scripts: passwordScripts });
}

/** After a failure, the browser gets its page again. */
async function checkCredentials(
  request: Request,
  response: Response,
  interaction: Interaction,
  dependencies: SignInDependencies,
): Promise<void> {
  const { signIn, deviceCookies, browserState } = dependencies;
  const username = formField(request, 'username');
  const user = await signIn({
    method: interaction.deviceCode === undefined ? 'page' : 'device_code',
    username,
    password: formField(request, 'password'),
    device: await deviceCookies.read(request, response),
    clientId: String(interaction.params.client_id),
    request,
  });
  if (user === undefined) {
    noteFailure(request, 'signInFailed', formProblems.signInFailed);
    const name = username.slice(0, 128);
    browserState.failedSignIns.write(interaction.uid, name, lifetimes.Interaction);
    response.redirect(303, signInAddress(interaction));
    return;
  }
  browserState.failedSignIns.clear(interaction.uid);
  const remember = formField(request, 'remember') === 'yes';
  const proof = firstProof(user, { amr: ['pwd'], remember });
  await continueSignIn({ request, response, interaction, user, proof, dependencies });
}

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
