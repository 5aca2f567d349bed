// requires: chromium
/** Users in a real browser sign in with accounts at providers, connect them, and disconnect them. */
import { accessibilityProblems, launchBrowser } from '@gatehouse/testing/browser';
import { afterAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { bob } from './installation.ts';
import { startWithUpstreams } from './upstream-servers.ts';

const { foreign, started } = await startWithUpstreams({}, ['sqlite']);
const { issuer, authorizationUrl } = (started[0] as (typeof started)[number]).system.first;
const browser = await launchBrowser();
afterAll(() => browser.close());

const desktop = { locale: 'en-US', viewport: { width: 1280, height: 800 } };
const phone = { locale: 'zh-CN', viewport: { width: 360, height: 740 } };
const devices = [desktop, phone, { ...phone, javaScriptEnabled: false }];

/** Opens a browser with a new account at the provider, and checks each page that the test looks at. */
async function openBrowser(options: (typeof devices)[number]) {
  const context = await browser.newContext({ ...options, ignoreHTTPSErrors: true });
  const page = await context.newPage();
  const refusals: string[] = [];
  page.on('console', (message) => message.type() === 'error' && refusals.push(message.text()));
  foreign.account = { sub: crypto.randomUUID(), name: 'Dora' };
  const look = async (selector: string) => {
    await page.locator(selector).first().waitFor();
    if (!('javaScriptEnabled' in options)) {
      expect([page.url(), await accessibilityProblems(page)]).toEqual([page.url(), []]);
    }
    const overflow = page.locator('html').evaluate((html) => html.scrollWidth - html.clientWidth);
    expect(await overflow).toBe(0);
  };
  const expires = async () =>
    (await context.cookies()).find(({ name }) => name === 'session')?.expires;
  return { context, page, refusals, look, expires };
}

const choose = (page: Page, id: string) => page.locator(`button[value=${id}]`).click();

test.each(devices)(
  'a button signs in, and keeps the session if the user chooses so: %j',
  async (device) => {
    const { context, page, refusals, look, expires } = await openBrowser(device);
    await page.goto(`${issuer}/account`);
    await look('button[value=corp]');
    // The page that leads to the provider stays while the provider does not answer.
    const { promise: refused, resolve } = Promise.withResolvers<void>();
    await page.route(`${foreign.issuer}/**`, (route) => route.abort('aborted').then(resolve));
    await choose(page, 'corp');
    await refused;
    await look(`a[href^="${foreign.issuer}"]`);
    await page.unrouteAll();
    await page.locator(`a[href^="${foreign.issuer}"]`).click();
    await look('#upstreams');
    expect(await expires()).toBeGreaterThan(0);

    await context.clearCookies();
    await page.goto(`${issuer}/account`);
    await page.getByRole('checkbox').uncheck();
    await choose(page, 'corp');
    await page.locator('#upstreams').waitFor();
    expect(await expires()).toBe(-1);
    expect(refusals).toEqual([]);
    await context.close();
  },
);

test.each(devices)('the domain of an address leads to its provider: %j', async (device) => {
  const { context, page, refusals } = await openBrowser(device);
  await page.goto(`${issuer}/account`);
  await page.locator('#username').fill('dora@corp.example');
  await page.locator('#username').press('Enter');
  await page.locator('#upstreams').waitFor();
  expect(foreign.asked.get('login_hint')).toBe('dora@corp.example');
  // An application names the user.
  await context.clearCookies();
  await page.goto(authorizationUrl({ login_hint: 'other@corp.example' }));
  await page.locator('form.choice').waitFor();
  expect(foreign.asked.get('login_hint')).toBe('other@corp.example');
  expect(refusals).toEqual([]);
  await context.close();
});

test.each(devices)('a user connects an account, and disconnects it: %j', async (device) => {
  const { context, page, refusals, look } = await openBrowser(device);
  await page.goto(`${issuer}/account`);
  await page.locator('#username').fill(bob.username);
  await page.locator('#password').fill(bob.password);
  await page.locator('#password').press('Enter');
  const button = (action: string) => page.locator(`form[action$="/plain/${action}"] button`);
  await button('connect').click();
  await look('.success');
  await context.clearCookies();
  await page.goto(`${issuer}/account`);
  await choose(page, 'plain');
  await button('disconnect').click();
  await look('.success');
  await button('connect').waitFor();
  expect(refusals).toEqual([]);

  // Now it signs in nobody, and neither does a provider that does not answer.
  await context.clearCookies();
  await page.goto(`${issuer}/account`);
  for (const id of ['plain', 'stopped']) {
    await choose(page, id);
    const back = 'a[href$="/account"]';
    await look(back);
    await page.locator(back).click();
    await look('#password');
  }
  await context.close();
});
