// requires: redis-server chromium

import { launchBrowser } from '@gatehouse/testing/browser';
import { startOnEachEngine } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { alice, authorizationUrl, bootstrap, requestToken, web } from './fixtures.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser.close());

const systems = await startOnEachEngine({ bootstrap, apps: ['authorization-server'] });

describe.each(systems)('a user in a real browser, over $engine', ({ system }) => {
  test.each([
    ['on a phone', { width: 360, height: 740 }, true],
    ['on a desktop, without script', { width: 1280, height: 800 }, false],
  ])(
    'signs in, allows access, and returns with a code that /token accepts: %s',
    async (_name, viewport, javaScriptEnabled) => {
      const issuer = system.authorizationServerUrl;
      const context = await browser.newContext({ viewport, javaScriptEnabled });
      const page = await context.newPage();
      const refusals: string[] = [];
      page.on('console', (message) => {
        if (message.type() === 'error') {
          refusals.push(message.text());
        }
      });
      await page.goto(authorizationUrl(issuer, { state: 'from-the-browser' }));
      expect(await page.title()).toBe('Sign in · Gatehouse');
      await page.getByLabel('Username').fill(alice.username);
      await page.getByLabel('Password').fill('not the password');
      await page.getByRole('button', { name: 'Sign in' }).click();
      expect(await page.getByRole('alert').textContent()).toContain('do not match');
      expect(await page.getByLabel('Username').inputValue()).toBe(alice.username);
      await page.getByLabel('Password').fill(alice.password);
      await page.getByRole('button', { name: 'Sign in' }).click();

      await page
        .getByRole('heading', { name: 'Example web application asks for access' })
        .waitFor();
      const fits = () =>
        page.locator('body').evaluate((body) => body.scrollWidth <= body.clientWidth);
      expect(await fits()).toBe(true);
      // No application runs at its address, so the request of the browser is enough.
      const request = page.waitForRequest(`${web.redirectUri}*`);
      await page.getByRole('button', { name: 'Allow' }).click({ noWaitAfter: true });
      const landing = new URL((await request).url());
      expect(landing.searchParams.get('state')).toBe('from-the-browser');
      const { status, body } = await requestToken(issuer, {
        grant_type: 'authorization_code',
        code: landing.searchParams.get('code') ?? '',
        redirect_uri: web.redirectUri,
        client_id: web.clientId,
      });
      expect([status, body.token_type]).toEqual([200, 'Bearer']);
      // The browser reports violations of the Content-Security-Policy on the console.
      expect(refusals).toEqual([]);
      await context.close();
    },
  );
});
