import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, chromium, type Page } from 'playwright-core';

/** Starts Chromium. A test file needs one, because each context has its own cookies. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      // The applications of the tests do not exist, and no test needs the network.
      '--host-resolver-rules=MAP *.example ~NOTFOUND',
    ],
  });
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

type Violations = readonly {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}[];

/**
 * Checks the open page with the rules of axe-core, in light and in dark.
 *
 * @returns each problem with its rule, colors and elements. None on an accessible page
 */
export async function accessibilityProblems(page: Page): Promise<readonly string[]> {
  const problems: string[] = [];
  // The driver evaluates it, so the Content-Security-Policy of the page does not apply.
  await page.evaluate(axe);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    // Only the colors differ, so the second run checks only these.
    const rules = colorScheme === 'light' ? '' : "runOnly: ['cat.color'],";
    const violations = await page.evaluate<Violations>(
      // Without the elements that pass, the result is small.
      `axe.run({ ${rules} resultTypes: ['violations'] }).then(({ violations }) => violations)`,
    );
    problems.push(
      ...violations.map(({ id, nodes }) => {
        const elements = nodes.map(({ html, failureSummary }) => `${html}: ${failureSummary}`);
        return `${id} (${colorScheme}): ${elements.join('; ')}`;
      }),
    );
  }
  return problems;
}
