/**
 * Makes the images of docs/console.md from the pictures that the browser tests take:
 *
 *   SCREENSHOTS=1 npm run test:browser -- apps/console
 *   node scripts/launch.mjs scripts/console-images.ts
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { launchBrowser } from '@gatehouse/testing/browser';

const root = join(import.meta.dirname, '..');
const images = { overview: 'en-overview', request: 'en-request', client: 'en-US-legacy-migration' };
/** The top of the page, without the languages: not every machine has their fonts. */
const size = { width: 1280, height: 740 };

const browser = await launchBrowser();
const page = await browser.newPage({ viewport: size });
const session = await page.context().newCDPSession(page);
mkdirSync(join(root, 'docs', 'images'), { recursive: true });
for (const [name, picture] of Object.entries(images)) {
  const png = readFileSync(
    join(root, 'coverage', 'console', `${picture}-1280-light.png`),
    'base64',
  );
  await page.setContent(`<body style="margin: 0"><img src="data:image/png;base64,${png}">`);
  await page.locator('img').evaluate((image) => image.decode());
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 80 });
  writeFileSync(join(root, 'docs', 'images', `console-${name}.webp`), Buffer.from(data, 'base64'));
}
await browser.close();
