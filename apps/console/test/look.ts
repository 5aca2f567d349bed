/** What tests check of each page in a browser. With SCREENSHOTS, they keep pictures of it. */
import { mkdirSync } from 'node:fs';
import { accessibilityProblems } from '@gatehouse/testing/browser';
import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';

const pictures = process.env.SCREENSHOTS && 'coverage/console';
if (pictures) {
  mkdirSync(pictures, { recursive: true });
}

/** Accessible in both schemes, and as wide as the window. */
export async function look(page: Page, name: string): Promise<void> {
  const address = page.url();
  expect([address, await accessibilityProblems(page)]).toEqual([address, []]);
  const overflow = page.locator('html').evaluate((html) => html.scrollWidth - html.clientWidth);
  expect([address, await overflow]).toEqual([address, 0]);
  for (const colorScheme of pictures ? (['light', 'dark'] as const) : []) {
    await page.emulateMedia({ colorScheme });
    const path = `${pictures}/${name}-${page.viewportSize()?.width}-${colorScheme}.png`;
    await page.screenshot({ path, fullPage: true });
  }
}
