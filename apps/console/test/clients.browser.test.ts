// requires: chromium
/** The screens of clients and tokens in a real browser: two languages, two sizes, by keyboard. */
import { launchBrowser } from '@gatehouse/testing/browser';
import { afterAll, expect, test } from '@jest/globals';
import { addClients, odd } from './client-fixtures.ts';
import { startConsole } from './in-process-console.ts';
import { look } from './look.ts';

const gatehouse = await startConsole();
const { url } = gatehouse;
const { token, oldKey } = await addClients(gatehouse);
const { visitor } = await gatehouse.signIn();
const browser = await launchBrowser();
afterAll(() => browser.close());

async function openBrowser(locale: string) {
  const context = await browser.newContext({ locale, viewport: { width: 1280, height: 800 } });
  const cookies = [...visitor.cookies].map(([name, value]) => ({
    ...{ name: name.split('|', 1)[0] ?? '', value, url },
    sameSite: 'Strict' as const,
  }));
  await context.addCookies(cookies);
  return context;
}

const places = {
  clients: '/clients',
  'clients-none': '/clients?search=nothing&disabled=true',
  legacy: '/clients/legacy',
  'legacy-keys': '/clients/legacy?tab=keys',
  'legacy-migration': '/clients/legacy?tab=migration',
  'legacy-remove-key': `/clients/legacy/remove-key?keyId=${oldKey}`,
  'shop-redirects': `/clients/shop?tab=redirects&uri=${encodeURIComponent('https://shop.example/callback/')}`,
  'fleet-keys': '/clients/fleet?tab=keys',
  odd: `/clients/${encodeURIComponent(odd)}`,
  idle: '/clients/idle',
  disable: '/clients/shop/disable',
  remove: '/clients/shop/remove',
  narrow: '/clients/shop/narrow?scope=device:read',
  wizard: '/new-client',
  'wizard-native': '/new-client?kind=native',
  tokens: '/tokens',
  everything: '/tokens/revoke?all=true',
};

test.each(['en-US', 'zh-CN'])('every screen is accessible in %s', async (locale) => {
  const context = await openBrowser(locale);
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 800 });
    for (const [name, place] of Object.entries(places)) {
      expect((await page.goto(url + place))?.status()).toBe(200);
      await look(page, `${locale}-${name}`);
    }
    await page.goto(`${url}/tokens`);
    await page.locator('#inspect-value').fill(await token());
    await page.locator('#inspect-value').press('Enter');
    await page.waitForURL(/reference=/);
    await look(page, `${locale}-token`);
  }
  expect(errors).toEqual([]);
  await context.close();
});

test('a client is added and its key is rotated by keyboard alone', async () => {
  const context = await openBrowser('en-US');
  const page = await context.newPage();
  const press = async (selector: string, key = 'Enter') => {
    for (let count = 0; count < 60; count += 1) {
      await page.keyboard.press('Tab');
      if (await page.locator(`${selector}:focus`).count()) {
        return page.keyboard.press(key);
      }
    }
    throw new Error(`Tab never reaches ${selector}.`);
  };
  await page.goto(`${url}/clients`);
  await press('.tools a');
  await page.waitForURL(`${url}/new-client`);
  await press('.choices a[href$=machine]');
  await page.waitForURL(/kind=machine/);
  await press('#create-name', 'M');
  await page.keyboard.press('Tab');
  await page.keyboard.type('by-keyboard');
  await page.keyboard.press('Enter');
  await page.locator('.shell').waitFor();
  await look(page, 'created');
  await press('.actions a.primary');
  await page.waitForURL(`${url}/clients/by-keyboard`);
  await press('.tabs a[href$=keys]');
  await press('[action$=add-key] button');
  await page.locator('.shell').waitFor();
  await press('.actions a.primary');
  await press('.actions a.danger');
  await press('.confirm button');
  await page.locator('.success').waitFor();
  const client = await gatehouse.identity.clients.find('by-keyboard');
  expect(client?.keys.map(({ state }) => state)).toEqual(['active', 'removed']);
  await context.close();
});
