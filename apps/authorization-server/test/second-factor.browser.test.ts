// requires: chromium
/** Users in a real browser enroll an authenticator app, sign in with it, and manage it. */
import { codeOfApp } from '@gatehouse/testing';
import { accessibilityProblems, launchBrowser } from '@gatehouse/testing/browser';
import { afterAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { bob, carol, installation } from './installation.ts';
import { startServers, type User } from './server.ts';

const secondFactor = { default: 'optional', roles: { admin: 'required' } };
const { first, identity } = await startServers({
  bootstrap: { ...installation, secondFactor },
});
const { issuer } = first;
const browser = await launchBrowser();
afterAll(() => browser.close());

const devices = [
  { locale: 'en-US', viewport: { width: 1280, height: 800 }, javaScriptEnabled: true },
  { locale: 'zh-CN', viewport: { width: 360, height: 740 }, javaScriptEnabled: true },
  { locale: 'en-US', viewport: { width: 360, height: 740 }, javaScriptEnabled: false },
];

/** Opens a browser, and checks each page that the test looks at. */
async function openBrowser(options: (typeof devices)[number]) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const refusals: string[] = [];
  page.on('console', (message) => {
    // The status of a wrong code is 422.
    if (message.type() === 'error' && !message.text().includes('422')) {
      refusals.push(message.text());
    }
  });
  const look = async (selector: string) => {
    await page.locator(selector).first().waitFor();
    if (options.javaScriptEnabled) {
      expect([page.url(), await accessibilityProblems(page)]).toEqual([page.url(), []]);
    }
    const overflow = page.locator('html').evaluate((html) => html.scrollWidth - html.clientWidth);
    expect(await overflow).toBe(0);
  };
  return { context, page, refusals, look };
}

async function enterPassword(page: Page, { username, password }: User): Promise<void> {
  await page.locator('#username').fill(username);
  await page.locator('#password').fill(password);
  await page.locator('button.primary').click();
}

const enterCode = async (page: Page, code: string) => {
  await page.locator('#code').fill(code);
  await page.locator('form:has(#code) button.primary').click();
};

const secretOn = async (page: Page) =>
  ((await page.locator('span.code').textContent()) ?? '').replaceAll(' ', '');

async function forget({ username }: User): Promise<void> {
  await identity.factors.remove((await identity.users.findByUsername(username))?.userId ?? '');
}

test.each(devices)('a user enrolls an app at a sign-in that requires it: %j', async (device) => {
  await forget(carol);
  const { context, page, refusals, look } = await openBrowser(device);
  await page.goto(`${issuer}/account`);
  await enterPassword(page, carol);
  await look('svg.qr');
  await enterCode(page, '000000');
  await look('#problem');
  await enterCode(page, codeOfApp(await secretOn(page)));
  await look('ul.codes');
  expect(await page.locator('li.code').count()).toBe(10);
  await page.locator('button.primary').click();
  await look('#second-factor');
  expect(refusals).toEqual([]);
  await context.close();
});

test.each(devices)('a user turns it on, signs in with it, and turns it off: %j', async (device) => {
  await forget(bob);
  const { context, page, refusals, look } = await openBrowser(device);
  await page.goto(`${issuer}/account`);
  await enterPassword(page, bob);
  await look('#second-factor');
  await page.locator('a[href="/account/second-factor"]').click();
  await look('svg.qr');
  const secret = await secretOn(page);
  await enterCode(page, codeOfApp(secret));
  await look('ul.codes');
  const recoveryCode = (await page.locator('li.code').first().textContent()) ?? '';

  await page.goto(first.authorizationUrl({ prompt: 'login' }));
  await enterPassword(page, bob);
  await look('#code');
  await enterCode(page, '000000');
  await look('#problem');
  await enterCode(page, codeOfApp(secret, Date.now() + 30_000));
  await page.locator('form.choice').waitFor();
  await page.goto(`${issuer}/account/second-factor`);
  await look('[value=codes]');
  await page.locator('[value=codes]').click();
  await look('ul.codes');
  const renewed = (await page.locator('li.code').first().textContent()) ?? '';
  expect(renewed).not.toBe(recoveryCode);

  const other = await openBrowser(device);
  await other.page.goto(`${issuer}/account`);
  await enterPassword(other.page, bob);
  await enterCode(other.page, renewed.toLowerCase());
  await other.look('#second-factor');
  await other.context.close();

  await page.goto(`${issuer}/account/second-factor`);
  await page.locator('[value=off]').click();
  await look('.success');
  expect(refusals).toEqual([]);
  await context.close();
});
