// requires: chromium

import { launchBrowser } from '@gatehouse/testing/browser';
import { afterAll, test } from '@jest/globals';
import { fromElsewhere, startMailSystems, wanted } from './mail-installation.ts';

const [{ system: { first, identity, mailServer } = {} } = {}] = await startMailSystems();
const browser = await launchBrowser();
afterAll(() => browser.close());

const devices = {
  desktop: { viewport: { width: 1280, height: 800 }, javaScriptEnabled: true },
  phone: { viewport: { width: 360, height: 640 }, javaScriptEnabled: false },
} as const;

// every-page.ts looks at each of these pages.
test.each(['desktop', 'phone'] as const)(
  'people get an account, a new password and a new address on a %s',
  async (device) => {
    const headers = { 'x-forwarded-for': fromElsewhere()['x-forwarded-for'] };
    const options = { ...devices[device], extraHTTPHeaders: headers };
    const page = await (await browser.newContext(options)).newPage();
    const email = `${device}@example.com`;
    const press = async (next: string) => {
      await page.locator('button.primary').click();
      await page.locator(next).waitFor();
    };
    const fill = async (fields: Readonly<Record<string, string>>) => {
      for (const [id, value] of Object.entries(fields)) {
        await page.locator(`#${id}`).fill(value);
      }
    };

    // A new account.
    await page.goto(first?.authorizationUrl() ?? '');
    await page.locator('a[href$="/create-account"]').click();
    await page.locator('#email').waitFor();
    await fill({ email: 'someone@elsewhere.example' });
    await press('#problem');
    await fill({ email });
    await press('a.button');
    const [created] = (await mailServer?.mailsTo(email)) ?? [];
    await page.goto(created?.link ?? '');
    await fill({ name: 'Anna', username: 'alice', wanted, repeated: wanted });
    await press('#problem');
    await fill({ username: device, wanted, repeated: wanted });
    await press('a[href="/account"]');

    // Its forgotten password.
    await page.goto(first?.authorizationUrl() ?? '');
    await page.locator('a[href^="/forgot-password"]').click();
    await page.locator('#login').waitFor();
    await fill({ login: email });
    await press('a.button');
    await page.locator('a.button').click();
    await page.locator('#username').waitFor();
    const [, reset] = (await mailServer?.mailsTo(email, 2)) ?? [];
    await page.goto(reset?.link ?? '');
    await fill({ wanted: `${wanted} again`, repeated: `${wanted} again` });
    await press('a[href="/account"]');

    // A new address.
    const user = await identity?.users.findByEmail(email);
    const { userId = '' } = user ?? {};
    const link = { kind: 'verify', userId, email: `new-${email}` } as const;
    const token = await identity?.actionLinks.issue(link);
    await page.goto(`${first?.issuer}/verify-email?token=${token}`);
    await press('a[href="/account"]');
    await page.locator('a[href="/account"]').click();
    await fill({ username: `new-${email}`, password: `${wanted} again` });
    await page.locator('button.primary').click();
    await page.getByText('Anna').first().waitFor();
    await page.context().close();
  },
);
