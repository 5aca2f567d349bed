// requires: chromium

/** The account page in a real browser, on a phone and a desktop. */
import { accessibilityProblems, launchBrowser } from '@gatehouse/testing/browser';
import { afterAll, expect, test } from '@jest/globals';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { bob, carol, installation } from './installation.ts';
import { startServers, type User } from './server.ts';

const bootstrap = { ...installation, selfService: { profile: true, data: true } };
const { issuer } = (await startServers({ bootstrap })).first;
const browser = await launchBrowser();
afterAll(() => browser.close());

async function signIn(user: User, options: BrowserContextOptions) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  await page.goto(`${issuer}/account`);
  await page.locator('#username').fill(user.username);
  await page.locator('#password').fill(user.password);
  await page.locator('button.primary').click();
  await page.locator('h1').waitFor();
  return { context, page };
}

/** No problem of accessibility, and nothing wider than the window. */
async function look(page: Page): Promise<void> {
  expect([page.url(), await accessibilityProblems(page)]).toEqual([page.url(), []]);
  const html = page.locator('html');
  const overflow = await html.evaluate((element) => element.scrollWidth - element.clientWidth);
  expect([page.url(), overflow]).toEqual([page.url(), 0]);
}

test.each([
  ['en-US', { width: 320, height: 640 }, carol],
  ['zh-CN', { width: 1280, height: 800 }, bob],
])('the whole account page works in %s in a window of %j', async (locale, viewport, user) => {
  const userAgent = 'Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0';
  const other = await signIn(user, { userAgent });
  const { context, page } = await signIn(user, { locale, viewport });
  const press = async (selector: string, next: string) => {
    await page.locator(selector).first().click();
    await page.locator(next).first().waitFor();
    await look(page);
  };
  await look(page);
  expect(await page.locator('.application h3').allTextContents()).toEqual([
    expect.stringContaining('Chrome'),
    expect.stringContaining('Firefox'),
  ]);
  await press('form[action$="/end-session"] button', '.success');
  await other.page.reload();
  await other.page.locator('#password').waitFor();

  await press('a[href$="/profile"]', '#givenName');
  await page.locator('#name').fill('   ');
  await press('button.primary', '#problem');
  expect(await page.locator('#name').getAttribute('aria-describedby')).toBe('problem');
  await page.locator('#name').fill('Someone Else');
  await page.locator('#locale').selectOption('zh-CN');
  await press('button.primary', '.success');
  const facts = await page.locator('.facts').textContent();
  expect(facts).toContain('Someone Else');
  expect(facts).toContain('中文');

  await press('a[href$="/email"]', '#email');
  await page.locator('#email').fill('someone.else@a.very.long.domain.of.a.company.example.com');
  await press('button.primary', '.success');

  await press('a[href$="/password"]', '#current');
  await page.locator('#current').fill(user.password);
  await page.locator('#wanted').fill('aaaaaaaaaa');
  await page.locator('#repeated').fill('aaaaaaaaaa');
  await press('button.primary', '#problem');
  const described = await page.locator('#wanted').getAttribute('aria-describedby');
  const values = ['#current', '#wanted', '#repeated'].map((id) => page.locator(id).inputValue());
  expect([described, ...(await Promise.all(values))]).toEqual([
    ...['problem hint', user.password, '', ''],
  ]);

  await page.goto(`${issuer}/account`);
  const download = page.waitForEvent('download');
  await page.locator('a[download]').click();
  expect((await download).suggestedFilename()).toBe('account.json');
  await press('a[href$="/remove"]', '#username');
  await page.locator('#username').fill('not me');
  await press('button.danger', '#problem');
  await page.locator('#username').fill(user.username);
  await press('button.danger', 'a[href="/"]');
  await page.goto(`${issuer}/account`);
  await page.locator('#password').waitFor();
  await context.close();
  await other.context.close();
});
