// requires: chromium
import { launchBrowser } from '@gatehouse/testing/browser';
import { afterAll, test } from '@jest/globals';
import { languages } from '../src/pages/languages.ts';
import { startWithEveryPage } from './every-page.ts';
import { CHECK_MILLISECONDS, checkPages } from './page-checks.ts';

const system = await startWithEveryPage();
const browser = await launchBrowser();
afterAll(() => browser.close());

// accessibility.browser.test.ts has the others.
const others = languages.filter(({ language }) => !['en', 'de'].includes(language));

test.each(others.map(({ language }) => language))(
  'no page has a problem that axe-core finds, or a layout that overflows, in %s',
  (language) => checkPages(browser, system, language),
  CHECK_MILLISECONDS,
);
