/** What every page has in common: its language, its accessibility, and a layout that fits. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { accessibilityProblems } from '@gatehouse/testing/browser';
import { expect } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { textsOf } from '../src/pages/languages.ts';
import { type startWithEveryPage, visitPages } from './every-page.ts';

export const desktop = { width: 1280, height: 800 };
const phone = { width: 320, height: 640 };

/** With `SCREENSHOTS=1`, every page is in this folder, which Git ignores. */
const folder = join(import.meta.dirname, '../../../coverage/pages');

const overflow = (page: Page) =>
  page.locator('html').evaluate((html) => html.scrollWidth - html.clientWidth);

/** The elements that the page or their own box cuts off at 320 px, in both directions of writing. */
export async function layoutProblems(page: Page): Promise<readonly string[]> {
  const problems: string[] = [];
  await page.setViewportSize(phone);
  await page.locator('.languages > summary').click();
  for (const direction of ['ltr', 'rtl']) {
    await page.locator('html').evaluate((html, dir) => html.setAttribute('dir', dir), direction);
    if ((await overflow(page)) > 0) {
      problems.push(`wider than 320 px, ${direction}`);
    }
    const cut = await page
      .locator('button:visible, .button:visible, summary, h1, .foot a')
      .evaluateAll((elements) =>
        elements
          .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1)
          .map(({ textContent }) => textContent ?? ''),
      );
    problems.push(...cut.map((text) => `${text} is cut off, ${direction}`));
  }
  await page.locator('html').evaluate((html) => html.removeAttribute('dir'));
  await page.locator('.languages > summary').click();
  await page.setViewportSize(desktop);
  return problems;
}

export async function takeScreenshots(page: Page, name: string): Promise<void> {
  if (process.env.SCREENSHOTS === undefined) {
    return;
  }
  mkdirSync(folder, { recursive: true });
  for (const [device, viewport] of Object.entries({ phone: { ...phone, width: 390 }, desktop })) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const path = `${name}-${device}-${colorScheme}.png`.replaceAll(' ', '-');
      await page.screenshot({ path: join(folder, path), fullPage: true });
    }
  }
  await page.setViewportSize(desktop);
}

/** Of `checkPages`, on a busy machine. */
export const CHECK_MILLISECONDS = 5 * 60 * 1000;

/** Visits every page in a language. */
export async function checkPages(
  browser: Browser,
  system: Awaited<ReturnType<typeof startWithEveryPage>>,
  language: string,
): Promise<void> {
  const options = { locale: language, viewport: desktop, ignoreHTTPSErrors: true };
  const page = await (await browser.newContext(options)).newPage();
  const headings: string[] = [];
  const unprotected: string[] = [];
  page.on('response', (reply) => {
    const { location, ...headers } = reply.headers();
    const isPage =
      reply.request().isNavigationRequest() && reply.url().startsWith(system.first.issuer);
    const isProtected =
      headers['content-security-policy']?.startsWith("default-src 'none';style-src 'self'") ===
        true &&
      headers['x-frame-options'] === 'DENY' &&
      headers['cache-control'] === 'no-store' &&
      headers['referrer-policy'] === 'no-referrer';
    if (isPage && location === undefined && !isProtected) {
      unprotected.push(`${reply.url()}: ${JSON.stringify(headers)}`);
    }
  });
  await visitPages(page, system, async (name) => {
    expect([name, await page.locator('html').getAttribute('lang')]).toEqual([name, language]);
    expect([name, await accessibilityProblems(page)]).toEqual([name, []]);
    expect([name, await layoutProblems(page)]).toEqual([name, []]);
    await takeScreenshots(page, `${language}-${name}`);
    expect([name, await page.locator('h1').count()]).toEqual([name, 1]);
    headings.push(...(await page.locator('h1, h2').allTextContents()));
  });
  await page.context().close();
  expect(unprotected).toEqual([]);
  // A page that the visit omits has a title that no heading contains.
  const titles = Object.entries(textsOf(language)).filter(([name]) => name.endsWith('Title'));
  const wordsOf = (title: unknown) => String(title).split(/\{\w+\}/);
  const unseen = titles.filter(
    ([, title]) =>
      !headings.some((heading) => wordsOf(title).every((words) => heading.includes(words))),
  );
  expect(unseen).toEqual([]);
}
