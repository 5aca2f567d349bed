// requires: chromium
/** Users in a real browser with an authenticator add passkeys, sign in with them, and manage them. */
import { accessibilityProblems, launchBrowser } from '@gatehouse/testing/browser';
import { afterAll, expect, test } from '@jest/globals';
import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import { bob, carol, installation } from './installation.ts';
import { startServers, type User } from './server.ts';

const secondFactor = { default: 'optional', roles: { admin: 'required' } };
const { first, identity } = await startServers({ bootstrap: { ...installation, secondFactor } });
const { issuer } = first;
const browser = await launchBrowser();
afterAll(() => browser.close());

const desktop = { locale: 'en-US', viewport: { width: 1280, height: 800 } };
const phone = { locale: 'zh-CN', viewport: { width: 360, height: 740 } };

/** Opens a browser, and checks each page that the test looks at. */
async function openBrowser(options: Parameters<typeof browser.newContext>[0] & object) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  // Marks the page once it asked for a passkey.
  await page.addInitScript(`
    const get = CredentialsContainer.prototype.get;
    CredentialsContainer.prototype.get = function (options) {
      document.documentElement.dataset.asked = '';
      return get.call(this, options);
    };
  `);
  const refusals: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') {
      refusals.push(message.text());
    }
  });
  const look = async (selector: string) => {
    await page.locator(selector).first().waitFor();
    if (options.javaScriptEnabled !== false) {
      expect([page.url(), await accessibilityProblems(page)]).toEqual([page.url(), []]);
    }
    const overflow = page.locator('html').evaluate((html) => html.scrollWidth - html.clientWidth);
    expect(await overflow).toBe(0);
  };
  return { context, page, refusals, look };
}

/** An authenticator that answers at once, as if the user touched it and was recognized. */
async function addAuthenticator(context: BrowserContext, page: Page) {
  const session: CDPSession = await context.newCDPSession(page);
  await session.send('WebAuthn.enable', { enableUI: false });
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true },
      ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
    },
  });
  return {
    /** Whether the user reacts. */
    react: (enabled: boolean) =>
      session.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled }),
    recognize: (isUserVerified: boolean) =>
      session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }),
  };
}

async function enterPassword(page: Page, { username, password }: User): Promise<void> {
  await page.locator('#username').fill(username);
  await page.locator('#password').fill(password);
  await page.locator('form.credentials button.primary').click();
}

async function forget({ username }: User): Promise<void> {
  const userId = (await identity.users.findByUsername(username))?.userId ?? '';
  await identity.factors.remove(userId);
}

const button = 'form[data-passkey=conditional] button';

test.each([desktop, phone])('a user adds a passkey, and signs in with it: %j', async (device) => {
  await forget(bob);
  const { context, page, refusals, look } = await openBrowser(device);
  const authenticator = await addAuthenticator(context, page);
  await page.goto(`${issuer}/account`);
  await look(button);
  await enterPassword(page, bob);
  await look('#passkeys');
  await page.locator('a[href="/account/passkeys"]').click();
  await look('form.passkey button');
  await page.locator('#name').fill('<b>Phone');
  await page.locator('form.passkey button').click();
  await look('ul.codes');

  // The field for the username offers the passkey by itself.
  await context.clearCookies();
  await page.goto(`${issuer}/account`);
  await page.locator('#everywhere').waitFor();

  // The button does, while the field waits.
  await authenticator.react(false);
  await context.clearCookies();
  await page.goto(`${issuer}/account/passkeys`);
  await page.locator('html[data-asked]').waitFor();
  await authenticator.react(true);
  await page.locator(button).click();
  await look('.application');
  expect(await page.locator('.application h2').textContent()).toBe('<b>Phone');
  await page.locator('.application [name=name]').fill('Laptop');
  await page.locator('.application button').first().click();
  await page.getByRole('heading', { name: 'Laptop' }).waitFor();
  await page.locator('.application button.danger').click();
  await page.locator('.application').waitFor({ state: 'detached' });

  // The page after a passkey that is not accepted has the form for the password.
  await authenticator.react(false);
  await context.clearCookies();
  await page.goto(`${issuer}/account`);
  await page.goto(`${page.url()}?failed=passkey`);
  await look('#problem');
  await enterPassword(page, bob);
  await page.locator('#passkeys').waitFor();
  expect(refusals).toEqual([]);
  await context.close();
});

test.each([desktop, phone])('a passkey is enrolled as the second factor: %j', async (device) => {
  await forget(carol);
  const { context, page, refusals, look } = await openBrowser(device);
  const authenticator = await addAuthenticator(context, page);
  await page.goto(`${issuer}/account`);
  await enterPassword(page, carol);
  await look('form[data-passkey=create] button');
  expect(await page.locator('svg.qr').count()).toBe(1);
  await page.locator('form[data-passkey=create] button').click();
  await look('ul.codes');
  const code = (await page.locator('li.code').first().textContent()) ?? '';
  await page.locator('button.primary').click();
  await page.locator('#passkeys').waitFor();

  await authenticator.react(false);
  await context.clearCookies();
  await page.goto(`${issuer}/account`);
  await enterPassword(page, carol);
  await look('form[data-passkey=get] button');
  await authenticator.react(true);
  await page.locator('form[data-passkey=get] button').click();
  await page.locator('#passkeys').waitFor();
  expect(refusals).toEqual([]);
  await context.close();

  // Without the passkey and without script, a recovery code signs in.
  const other = await openBrowser({ ...device, javaScriptEnabled: false });
  await other.page.goto(`${issuer}/account`);
  await enterPassword(other.page, carol);
  await other.look('.card p:has-text("JavaScript")');
  await other.page.locator('#code').fill(code);
  await other.page.locator('button.primary:visible').click();
  await other.page.locator('#passkeys').waitFor();
  await other.context.close();
});

test('an authenticator that does not recognize its user changes nothing', async () => {
  await forget(bob);
  const { context, page, refusals, look } = await openBrowser(desktop);
  const authenticator = await addAuthenticator(context, page);
  await authenticator.recognize(false);
  await page.goto(`${issuer}/account`);
  await enterPassword(page, bob);
  await page.locator('a[href="/account/passkeys"]').click();
  await page.locator('form.passkey button').click();
  await look('form.passkey button');
  expect(page.url()).toBe(`${issuer}/account/passkeys`);
  expect(refusals).toEqual([]);
  await context.close();
});

test('without script, the password signs in, and nothing else is offered', async () => {
  await forget(bob);
  const { context, page, look } = await openBrowser({ ...phone, javaScriptEnabled: false });
  await page.goto(`${issuer}/account`);
  await look('form.credentials');
  expect(await page.locator(button).isVisible()).toBe(false);
  await enterPassword(page, bob);
  await page.locator('a[href="/account/passkeys"]').click();
  await look('.card p:has-text("JavaScript")');
  expect(await page.locator('form.passkey').isVisible()).toBe(false);
  await context.close();
});
