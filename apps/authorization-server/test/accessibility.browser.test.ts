// requires: chromium

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '@gatehouse/testing';
import { accessibilityProblems, launchBrowser } from '@gatehouse/testing/browser';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, expect, test } from '@jest/globals';
import { signIn, startWithEveryPage } from './every-page.ts';
import {
  CHECK_MILLISECONDS,
  checkPages,
  desktop,
  layoutProblems,
  takeScreenshots,
} from './page-checks.ts';

const wideLogo = join(temporaryFolder(), 'wide.svg');
writeFileSync(
  wideLogo,
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 100"><rect width="1200" height="100" fill="#7a1fa2"/></svg>',
);
const plain = await startWithEveryPage();
const branded = await startWithEveryPage({
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
});
const browser = await launchBrowser();
afterAll(() => browser.close());

const backgroundOf = (element: unknown) => {
  const { getComputedStyle } = globalThis as unknown as {
    getComputedStyle(of: unknown): { backgroundColor: string };
  };
  return getComputedStyle(element).backgroundColor;
};

// languages.slow.test.ts has the others. German has the longest words.
test.each(['en', 'de'])(
  'no page has a problem that axe-core finds, or a layout that overflows, in %s',
  (language) => checkPages(browser, plain, language),
  CHECK_MILLISECONDS,
);

test('a brand with a logo or long name, links and a contact fits as well, also for axe-core', async () => {
  const { issuer, authorizationUrl } = branded.first;
  for (const name of ['logo', 'name']) {
    const context = await browser.newContext({ viewport: desktop });
    const page = await context.newPage();
    const failures: string[] = [];
    page.on('console', (line) => line.type() === 'error' && failures.push(line.text()));
    await page.goto(authorizationUrl());
    await signIn(page, 'alice', 'not the password');
    await page.locator('#problem').waitFor();
    expect(await page.locator('button.primary').evaluate(backgroundOf)).toBe('rgb(122, 31, 162)');
    for (const look of ['sign-in', 'error']) {
      if (look === 'error') {
        await page.goto(`${issuer}/nothing`);
      }
      expect([await accessibilityProblems(page), await layoutProblems(page)]).toEqual([[], []]);
      await takeScreenshots(page, `brand-${name}-${look}`);
    }
    expect(failures.filter((text) => !text.includes('404'))).toEqual([]);
    await context.close();
    const { logo: _, ...withoutLogo } =
      (await branded.identity.settings.read()).definition.branding ?? {};
    await branded.identity.settings.apply({ branding: { organizations: {}, ...withoutLogo } });
    await until(async () => !(await branded.first.get('/')).body.includes('class="logo"'));
  }
});
