// requires: chromium

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { accessibilityProblems, launchBrowser } from '@gatehouse/testing/browser';
import { afterAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { languages } from '../src/pages/languages.ts';
import { visitPages } from './every-page.ts';
import { startServers } from './server.ts';

const { first } = await startServers();
const browser = await launchBrowser();
afterAll(() => browser.close());

const desktop = { width: 1280, height: 800 };
const phone = { width: 320, height: 640 };

/** With `SCREENSHOTS=1`, every page is in this folder, which Git ignores. */
const folder = join(import.meta.dirname, '../../../coverage/pages');

const overflow = (page: Page) =>
  page.locator('html').evaluate((html) => html.scrollWidth - html.clientWidth);

/** The elements that the page or their own box cuts off at 320 px, in both directions of writing. */
async function layoutProblems(page: Page): Promise<readonly string[]> {
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

async function takeScreenshots(page: Page, name: string): Promise<void> {
  for (const [device, viewport] of Object.entries({ phone: { ...phone, width: 390 }, desktop })) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const path = `${name}-${device}-${colorScheme}.png`.replaceAll(' ', '-');
      await page.screenshot({ path: join(folder, path), fullPage: true });
    }
  }
}

test.each(languages.map(({ language }) => language))(
  'no page has a problem that axe-core finds, or a layout that overflows, in %s',
  async (language) => {
    const context = await browser.newContext({ locale: language, viewport: desktop });
    const page = await context.newPage();
    const looked: string[] = [];
    mkdirSync(folder, { recursive: true });
    await visitPages(page, first, async (name) => {
      expect([name, await page.locator('html').getAttribute('lang')]).toEqual([name, language]);
      expect([name, await accessibilityProblems(page)]).toEqual([name, []]);
      expect([name, await layoutProblems(page)]).toEqual([name, []]);
      if (process.env.SCREENSHOTS !== undefined) {
        await takeScreenshots(page, `${language}-${name}`);
      }
      looked.push(name);
    });
    expect(looked).toHaveLength(25);
    await context.close();
  },
);
