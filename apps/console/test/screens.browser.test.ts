// requires: chromium
/** Operators in a real browser: sign-in with a second factor, every screen, light and dark, two sizes. */
import { codeOfApp } from '@gatehouse/testing';
import { launchBrowser } from '@gatehouse/testing/browser';
import { startSystem } from '@gatehouse/testing/suite';
import { afterAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { follow, installation, newVisitor, operator, reader, stranger } from './installation.ts';
import { look } from './look.ts';

const { consoleUrl } = await startSystem({
  engine: 'sqlite',
  apps: ['authorization-server', 'gateway', 'console'],
  bootstrap: installation,
});
const attacker = newVisitor();
const signIn = await follow(attacker, await attacker.get(`${consoleUrl}/users`));
await attacker.submit(signIn, { username: stranger.username, password: 'wrong' });
const browser = await launchBrowser();
afterAll(() => browser.close());

async function enterPassword(page: Page, user: { username: string; password: string }) {
  await page.locator('#username').fill(user.username);
  await page.locator('#password').fill(user.password);
  await page.locator('button.primary').click();
}

/** @returns the secret of the authenticator app */
async function enroll(page: Page, user: { username: string; password: string }): Promise<string> {
  await enterPassword(page, user);
  const secret = ((await page.locator('span.code').textContent()) ?? '').replaceAll(' ', '');
  await page.locator('#code').fill(codeOfApp(secret));
  await page.locator('button.primary').click();
  await page.locator('li.code').first().waitFor();
  await page.locator('button.primary').click();
  return secret;
}

const places = [
  ...['/organizations', '/organizations/org-1', '/organizations/org-2', '/nothing'],
  ...[
    '/users',
    '/audit',
    '/audit?severity=alert',
    '/keys',
    '/keys/rotate?purpose=authorization-server',
  ],
  ...[
    '/settings',
    '/settings?tab=processes',
    '/settings?tab=routes',
    '/settings?tab=configuration',
    '/settings/operators',
  ],
];

/** The screens of one user, whose id is new in each installation. */
async function lookAtUsers(page: Page, locale: string) {
  for (const { username } of [operator, stranger]) {
    await page.goto(`${consoleUrl}/users?search=${username}`);
    await page.locator('td a').first().click();
    const { href } = new URL(page.url());
    await look(page, `${locale}-user-${username}`);
    await page.goto(`${href}?tab=audit`);
    await look(page, `${locale}-user-${username}-audit`);
    await page.goto(`${href}/remove`);
    await look(page, `${locale}-user-${username}-remove`);
  }
}

async function proposeRoles(page: Page, locale: string) {
  await page.goto(`${consoleUrl}/settings/operators`);
  await page.locator('textarea').fill('{ "roles": ["operations", "help-desk"] }');
  await page.locator('form.act button.primary').click();
  await page.locator('ins', { hasText: 'help-desk' }).waitFor();
  await look(page, `${locale}-proposed`);
  await page.goto(`${consoleUrl}/organizations`);
}

test.each([
  { user: operator, locale: 'en-US', other: 'zh-CN' },
  { user: reader, locale: 'zh-CN', other: 'en' },
])('every screen is accessible: %j', async ({ user, locale, other }) => {
  const context = await browser.newContext({ locale, viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes('404')) {
      errors.push(message.text());
    }
  });
  await page.goto(`${consoleUrl}/organizations/org-1`);
  await enroll(page, user);
  await page.waitForURL(`${consoleUrl}/organizations/org-1`);
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 800 });
    for (const place of places) {
      await page.goto(consoleUrl + place);
      const hidden = page.locator('details');
      await hidden.evaluateAll((all) => all.forEach((each) => void each.setAttribute('open', '')));
      await look(page, `${locale}${place.replace(/[^\w-]/g, '-')}`);
    }
    await lookAtUsers(page, locale);
    await page.goto(`${consoleUrl}/organizations/org-4/remove`);
    await look(page, `${locale}-remove`);
  }
  await proposeRoles(page, locale);
  await page.keyboard.press('Tab');
  await page.locator('a.skip:focus').waitFor();
  await page.keyboard.press('Enter');
  await page.locator('main:focus').waitFor();
  await page.locator('#menu').focus();
  await page.keyboard.press('Space');
  await page.locator('nav.screens a').first().waitFor();
  await page.keyboard.press('Space');
  await page.locator('label[for=menu]').click();
  await look(page, `${locale}-menu`);
  await page.locator(`[name=language][value=${other}]`).click();
  await page.locator(`html[lang=${other}]`).waitFor();
  expect(errors).toEqual([]);
  await context.close();
});
