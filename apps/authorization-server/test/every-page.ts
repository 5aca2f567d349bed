/** Visits every page in a browser, for tests of what all pages have in common. */
import { codeOfApp } from '@gatehouse/testing';
import type { Page } from 'playwright-core';
import { mailInstallation } from './mail-installation.ts';
import { startServers } from './server.ts';
import { atProvider, createProviderHost, startLaxProvider } from './upstream-providers.ts';

const password = 'correct horse battery';
const wanted = 'seven tall lanterns';
/** A role whose users need a second factor. */
const guarded = 'guarded';

/** Servers that have every page. */
export async function startWithEveryPage(branding?: object) {
  const host = createProviderHost();
  const provider = await startLaxProvider(host);
  const { clientId, secureKey: clientSecret } = atProvider;
  const upstream = { clientId, clientSecret };
  const oauth = {
    authorizationEndpoint: `${provider.issuer}/authorize`,
    tokenEndpoint: `${provider.issuer}/token`,
    userinfoEndpoint: `${provider.issuer}/user`,
    members: { subject: 'id' },
  };
  const system = await startServers({
    // No mail server runs there: the mails stay in their queue.
    environment: {
      ...{ ...host.environment, SMTP_URL: 'smtp://127.0.0.1:9' },
      MAIL_FROM: 'Example <no-reply@example.com>',
    },
    bootstrap: {
      ...mailInstallation,
      ...{ branding, privateHosts: ['localhost'], selfService: { profile: true, data: true } },
      secondFactor: { default: 'optional', roles: { [guarded]: 'required' } },
      upstreams: [
        { ...upstream, id: 'known', name: 'Meadow account', oauth },
        { ...upstream, id: 'gone', name: 'Garden account', issuer: 'https://localhost:9' },
      ],
    },
  });
  return { ...system, provider };
}

type Pages = Awaited<ReturnType<typeof startWithEveryPage>>;

export async function signIn(page: Page, username: string, typed: string): Promise<void> {
  await page.locator('#username').fill(username);
  await page.locator('#password').fill(typed);
  await page.locator('form.credentials button.primary').click();
}

type Visit = ReturnType<typeof createVisit>;

function createVisit(page: Page, system: Pages, look: (name: string) => Promise<void>) {
  const { first, identity } = system;
  const open = async (name: string, path: string) => {
    await page.goto(first.issuer + path);
    await look(name);
  };
  const press = async (selector: string, next: string, name: string) => {
    await page.locator(selector).first().click();
    await page.locator(next).first().waitFor();
    await look(name);
  };
  return {
    ...{ page, system, look, open, press },
    async fill(fields: Readonly<Record<string, string>>) {
      for (const [id, value] of Object.entries(fields)) {
        await page.locator(`#${id}`).fill(value);
      }
    },
    /** In the authenticator app on the page. */
    async code(milliseconds?: number) {
      const secret = (await page.locator('span.code').textContent()) ?? '';
      return codeOfApp(secret.replaceAll(' ', ''), milliseconds);
    },
    addUser: async (username: string, changes = {}) =>
      identity.users.ensure({
        ...{ username, password, name: 'Alice Example', orgId: 'org-1' },
        ...changes,
      }),
  };
}

/**
 * Visits every page, in the language of the browser, and calls `look` on each. A new page gets a
 * line here.
 */
export async function visitPages(
  page: Page,
  system: Pages,
  look: (name: string) => Promise<void>,
): Promise<void> {
  const visit = createVisit(page, system, look);
  const language = await page.evaluate<string>('navigator.language');
  const username = `alice-${language}`;
  const { userId } = await visit.addUser(username);
  await visitSignedOutPages(visit, username);
  await visitApplicationPages(visit, username);
  await visitDevicePages(visit);
  await visitAccountPages(visit, userId);
  await visitFactorPages(visit, username);
  await visitLastPages(visit, `new-${username}`);
}

async function visitSignedOutPages(visit: Visit, username: string): Promise<void> {
  const { page, look, open, press, fill } = visit;
  const { first, identity } = visit.system;
  const { actionLinks } = identity;
  await open('welcome', '/');
  await open('cookies blocked', '/sign-in/unknown');
  await open('not found', '/no-such-page');
  await open('bad request', '/authorize?client_id=nobody');
  await open('link that was used', '/verify-email?token=unknown');
  await page.goto(first.authorizationUrl());
  await look('sign-in');
  await open('expired', '/sign-in/unknown');
  await page.goto(first.authorizationUrl());
  await press('a[href$="/create-account"]', '#email', 'registration');
  await fill({ email: 'someone@elsewhere.example' });
  await press('button.primary', '#problem', 'registration at another domain');
  await fill({ email: `${username}@example.com` });
  await press('button.primary', 'a.button', 'registration sent');
  await press('a.button', '#username', 'sign-in again');
  await press('a[href^="/forgot-password"]', '#login', 'forgotten password');
  await fill({ login: 'nobody' });
  await press('button.primary', 'a.button', 'forgotten password sent');
  const user = await visit.addUser(`bob-${username}`);
  const email = `${user.username}@example.com`;
  const invitation = await actionLinks.issue({ kind: 'invite', orgId: 'org-1', email });
  await open('new account', `/create-account?token=${invitation}`);
  await fill({ name: 'Bob', username, wanted, repeated: wanted });
  await press('button.primary', '#problem', 'new account with the name of another one');
  await fill({ username: `carol-${username}`, wanted, repeated: wanted });
  await press('button.primary', 'a[href="/account"]', 'new account ready');
  const { userId } = user;
  const address = { kind: 'verify', userId, email: `new-${email}` } as const;
  const verification = await actionLinks.issue(address);
  await open('new address', `/verify-email?token=${verification}`);
  await press('button.primary', 'a[href="/account"]', 'new address confirmed');
  await open(
    'new password',
    `/reset-password?token=${await actionLinks.issue({ kind: 'reset', userId })}`,
  );
  await fill({ wanted, repeated: 'another one' });
  await press('button.primary', '#problem', 'new password and a different one');
  await fill({ wanted, repeated: wanted });
  await press('button.primary', 'a[href="/account"]', 'new password set');
}

async function visitApplicationPages(visit: Visit, username: string): Promise<void> {
  const { page, look, press } = visit;
  const { first, provider } = visit.system;
  await page.goto(first.authorizationUrl());
  const address = page.url();
  await press('button[value=gone]', 'a[href$="/account"]', 'provider does not answer');
  await page.goto(address);
  provider.user = { id: 1 };
  await page.route(`${provider.issuer}/**`, (route) => route.abort('aborted'));
  const way = `a[href^="${provider.issuer}"]`;
  await press('button[value=known]', way, 'way to a provider');
  await page.unrouteAll();
  await press(way, 'a[href$="/account"]', 'account of a provider is not connected');
  await press('a.button', '#username', 'another way to sign in');
  await signIn(page, username, 'not the password');
  await page.locator('#problem').waitFor();
  await look('failed sign-in');
  await signIn(page, username, password);
  await page.locator('form.choice').waitFor();
  await look('consent');
  await press('.person a', '#username', 'another account');
  await page.goBack();
  // No application runs at its address, so the browser shows an error page.
  const landing = page.waitForEvent('framenavigated', (frame) =>
    frame.url().startsWith('chrome-error:'),
  );
  await page.locator('button.primary').click({ noWaitAfter: true });
  await landing;
  await page.goto(address);
  await look('sign-in that was finished');
  await page.goto(first.authorizationUrl({ prompt: 'select_account' }));
  await look('choice of an account');
  await page.route('**/assets/submit-form.js', (route) => route.abort());
  await page.goto(first.authorizationUrl({ response_mode: 'form_post' }));
  await look('form for the application');
  await page.unrouteAll();
}

async function visitDevicePages({ page, press, system }: Visit): Promise<void> {
  const openDevice = async () => {
    const { verification_uri_complete: address = '' } = await system.first.startDevice();
    await page.goto(address);
  };
  await openDevice();
  await press('button.primary', 'output', 'device confirmation');
  await press('[name=abort]', 'a[href="/device"]', 'device stopped');
  await press('a[href="/device"]', '#user_code', 'device');
  await page.locator('#user_code').fill('BBBBBBBB');
  await press('button.primary', '#problem', 'device with an unknown code');
  await openDevice();
  await page.locator('button.primary').click();
  await press('[name=confirm]', 'form.choice', 'device consent');
  await press('button.primary', '.success', 'device connected');
}

async function visitAccountPages(visit: Visit, userId: string): Promise<void> {
  const { page, open, press, fill } = visit;
  visit.system.provider.user = { id: userId };
  await open('account', '/account');
  await press('.application button[aria-label]', '.success', 'access ended');
  await press('a[href$="/password"]', '#current', 'password');
  await fill({ current: 'not the password', wanted, repeated: wanted });
  await press('button.primary', '#problem', 'wrong password');
  await open('profile', '/account/profile');
  await fill({ name: '   ' });
  await press('button.primary', '#problem', 'profile without a name');
  await open('email', '/account/email');
  await fill({ email: `someone.else@a.very.long.domain.of.a.company.example.com` });
  await press('button.primary', '.success', 'email to confirm');
  await page.goto(`${visit.system.first.issuer}/account`);
  await press('form[action$="/known/connect"] button', '.success', 'account connected');
  await open('question before signing out everywhere', '/account/sign-out-everywhere');
  await open('signed out everywhere', '/account/signed-out');
}

async function visitFactorPages(visit: Visit, username: string): Promise<void> {
  const { page, look, open, press, fill, code, system } = visit;
  await open('authenticator app', '/account/second-factor');
  await fill({ code: '000000' });
  await press('button.primary', '#problem', 'authenticator app with a wrong code');
  await fill({ code: await code() });
  await press('button.primary', 'ul.codes', 'recovery codes');
  await open('second factor', '/account/second-factor');
  await open('passkeys', '/account/passkeys');
  await page.locator('form.passkey button').waitFor();
  const authenticator = await addAuthenticator(page);
  await page.locator('form.passkey button').click();
  await page.locator('.success').waitFor();
  await look('account with everything');
  await open('passkeys and one of them', '/account/passkeys');
  // The user does not touch it any more.
  await authenticator.ignore();
  await open('logout', '/logout');
  await press('button.primary', 'a[href="/account"]', 'signed out');
  await page.goto(system.first.authorizationUrl());
  await signIn(page, username, password);
  await page.locator('#code').waitFor();
  await look('second factor at sign-in');
  await fill({ code: '000000' });
  await press('form button.primary', '#problem:visible', 'wrong code at sign-in');
}

/** An authenticator that answers at once, as if the user touched it and was recognized. */
async function addAuthenticator(page: Page) {
  const session = await page.context().newCDPSession(page);
  await session.send('WebAuthn.enable', { enableUI: false });
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true },
      ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
    },
  });
  return {
    ignore: () =>
      session.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled: false }),
  };
}

/** Of a user who needs a new password and a second factor, and then removes the account. */
async function visitLastPages(visit: Visit, username: string): Promise<void> {
  const { page, look, open, press, fill, code, system } = visit;
  const { users } = system.identity;
  const { userId } = await visit.addUser(username, { roles: [guarded] });
  await users.update(userId, (user) => ({ ...user, mustChangePassword: true }));
  await page.goto(`${system.first.issuer}/account`);
  await signIn(page, username, password);
  await page.locator('#wanted').waitFor();
  await look('password that must change');
  await fill({ wanted: 'short', repeated: 'short' });
  await page.locator('#wanted').evaluate((field) => field.removeAttribute('minlength'));
  await page.locator('#repeated').evaluate((field) => field.removeAttribute('minlength'));
  await press('button.primary', '#problem', 'new password that is too short');
  await fill({ wanted, repeated: wanted });
  await press('button.primary', 'svg.qr', 'authenticator app at sign-in');
  await fill({ code: await code() });
  await press('button.primary', 'ul.codes', 'recovery codes at sign-in');
  await page.locator('button.primary').click();
  await page.locator('#everywhere').waitFor();
  await open('question before removing the account', '/account/remove');
  await fill({ username: 'someone else' });
  await press('button.danger', '#problem', 'name of another account');
  await fill({ username });
  await press('button.danger', 'a[href="/"]', 'account removed');
}
