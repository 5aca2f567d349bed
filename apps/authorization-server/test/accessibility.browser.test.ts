// requires: chromium

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '@gatehouse/testing';
import { accessibilityProblems, launchBrowser } from '@gatehouse/testing/browser';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { languages } from '../src/pages/languages.ts';
import { signIn, visitPages } from './every-page.ts';
import { installation } from './installation.ts';
import { startServers } from './server.ts';

const { first } = await startServers();
const wideLogo = join(temporaryFolder(), 'wide.svg');
writeFileSync(
  wideLogo,
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 100"><rect width="1200" height="100" fill="#7a1fa2"/></svg>',
);
const branded = await startServers({
  bootstrap: {
    ...installation,
    branding: {
      name: 'The united meadows and gardens of the northern region',
      logo: wideLogo,
      colors: {
        light: { accent: '#7a1fa2', ground: '#f6effa' },
        dark: { accent: '#d7a6f0', ground: '#120818' },
      },
      links: Object.fromEntries(
        ['help', 'privacy', 'terms'].map((name) => [name, `https://example.com/${name}`]),
      ),
      contact: 'the-people-who-help@a-long-name.departments.example.com',
    },
  } as typeof installation,
});
const browser = await launchBrowser();
afterAll(() => browser.close());

const desktop = { width: 1280, height: 800 };
const phone = { width: 320, height: 640 };

/** With `SCREENSHOTS=1`, every page is in this folder, which Git ignores. */
const folder = join(import.meta.dirname, '../../../coverage/pages');

const backgroundOf = (element: unknown) => {
  const { getComputedStyle } = globalThis as unknown as {
    getComputedStyle(of: unknown): { backgroundColor: string };
  };
  return getComputedStyle(element).backgroundColor;
};

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

test('a brand with a logo or long name, links and a contact fits as well, also for axe-core', async () => {
  const { issuer, authorizationUrl } = branded.first;
  for (const name of ['logo', 'name']) {
    const context = await browser.newContext({ viewport: desktop });
    const page = await context.newPage();
    const failures: string[] = [];
    page.on('console', (line) => line.type() === 'error' && failures.push(line.text()));
    await page.goto(authorizationUrl());
    await signIn(page, 'not the password');
    await page.locator('#problem').waitFor();
    expect(await page.locator('button.primary').evaluate(backgroundOf)).toBe('rgb(122, 31, 162)');
    for (const look of ['sign-in', 'error']) {
      if (look === 'error') {
        await page.goto(`${issuer}/nothing`);
      }
      expect([await accessibilityProblems(page), await layoutProblems(page)]).toEqual([[], []]);
      if (process.env.SCREENSHOTS !== undefined) {
        await takeScreenshots(page, `brand-${name}-${look}`);
      }
    }
    expect(failures.filter((text) => !text.includes('404'))).toEqual([]);
    await context.close();
    const { logo: _, ...withoutLogo } =
      (await branded.identity.settings.read()).definition.branding ?? {};
    await branded.identity.settings.apply({ branding: { organizations: {}, ...withoutLogo } });
    await until(async () => !(await branded.first.get('/')).body.includes('class="logo"'));
  }
});
