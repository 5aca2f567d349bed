// requires: chromium

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { accessibilityProblems, launchBrowser } from '@gatehouse/testing/browser';
import { afterAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { fromElsewhere, startMailSystems, wanted } from './mail-installation.ts';

const [{ system: { first, identity, mailServer } = {} } = {}] = await startMailSystems();
const browser = await launchBrowser();
afterAll(() => browser.close());

/** Set it to keep a picture of each page. */
const pictures = process.env.SCREENSHOTS;
if (pictures) {
  mkdirSync(pictures, { recursive: true });
}

const devices = {
  desktop: { viewport: { width: 1280, height: 800 }, javaScriptEnabled: true },
  phone: { viewport: { width: 360, height: 640 }, javaScriptEnabled: false },
} as const;

test.each([
  ['desktop', 'en'],
  ['desktop', 'zh-CN'],
  ['phone', 'en'],
  ['phone', 'zh-CN'],
] as const)(
  'on a %s in %s, every page of a new account and password works',
  async (device, locale) => {
    const headers = { 'x-forwarded-for': fromElsewhere()['x-forwarded-for'] };
    const options = { ...devices[device], locale, extraHTTPHeaders: headers };
    const page = await (await browser.newContext(options)).newPage();
    const email = `${device}-${locale}@example.com`.toLowerCase();
    const look = async (name: string) => {
      expect([name, await page.locator('html').getAttribute('lang')]).toEqual([name, locale]);
      expect([name, await isWider(page)]).toEqual([name, false]);
      if (options.javaScriptEnabled) {
        expect([name, await accessibilityProblems(page)]).toEqual([name, []]);
      }
      if (pictures) {
        await page.screenshot({
          path: join(pictures, `${name}-${device}-${locale}.png`),
          fullPage: true,
        });
      }
    };
    const press = async (next: string, name: string) => {
      await page.locator('button.primary').click();
      await page.locator(next).waitFor();
      await look(name);
    };
    const fill = async (fields: Readonly<Record<string, string>>) => {
      for (const [id, value] of Object.entries(fields)) {
        await page.locator(`#${id}`).fill(value);
      }
    };

    // A new account.
    await page.goto(first?.authorizationUrl() ?? '');
    await look('sign-in');
    await page.locator('a[href$="/create-account"]').click();
    await page.locator('#email').waitFor();
    await look('register');
    await fill({ email: 'someone@elsewhere.example' });
    await press('#problem', 'register-problem');
    await fill({ email });
    await press('a.button', 'register-sent');
    const [created] = (await mailServer?.mailsTo(email)) ?? [];
    await page.goto(created?.link ?? '');
    await look('create-account');
    await fill({ name: 'Anna', username: 'alice', wanted, repeated: wanted });
    await press('#problem', 'create-account-problem');
    await fill({ username: `${device}-${locale}`, wanted, repeated: wanted });
    await press('a[href="/account"]', 'account-created');
    if (pictures) {
      const mail = await page.context().newPage();
      await mail.setContent(created?.html ?? '');
      await mail.screenshot({ path: join(pictures, `mail-${device}-${locale}.png`) });
    }

    // Its forgotten password.
    await page.goto(first?.authorizationUrl() ?? '');
    await page.locator('a[href^="/forgot-password"]').click();
    await page.locator('#login').waitFor();
    await look('forgot');
    await fill({ login: email });
    await press('a.button', 'forgot-sent');
    await page.locator('a.button').click();
    await page.locator('#username').waitFor();
    const [, reset] = (await mailServer?.mailsTo(email, 2)) ?? [];
    await page.goto(reset?.link ?? '');
    await look('reset');
    await fill({ wanted: `${wanted} again`, repeated: `${wanted} again` });
    await press('a[href="/account"]', 'reset-done');

    // A new address.
    const user = await identity?.users.findByEmail(email);
    const { userId = '' } = user ?? {};
    const link = { kind: 'verify', userId, email: `new-${email}` } as const;
    const token = await identity?.actionLinks.issue(link);
    await page.goto(`${first?.issuer}/verify-email?token=${token}`);
    await look('verify');
    await press('a[href="/account"]', 'verified');
    await page.locator('a[href="/account"]').click();
    await fill({ username: `new-${email}`, password: `${wanted} again` });
    await page.locator('button.primary').click();
    await page.getByText('Anna').first().waitFor();
    await page.context().close();
  },
);

const isWider = (page: Page) => page.evaluate<boolean>('document.body.scrollWidth > innerWidth');
