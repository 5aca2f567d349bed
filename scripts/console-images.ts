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
const page = await browser.newPage();
mkdirSync(join(root, 'docs', 'images'), { recursive: true });
for (const [name, picture] of Object.entries(images)) {
  const png = readFileSync(join(root, 'coverage', 'console', `${picture}-1280-light.png`));
  const webp = await page.evaluate(
    async ([source, { width, height }]) => {
      const image = new Image();
      image.src = source;
      await image.decode();
      const canvas = Object.assign(document.createElement('canvas'), { width, height });
      canvas.getContext('2d')?.drawImage(image, 0, 0);
      return canvas.toDataURL('image/webp', 0.8).replace(/^.*,/, '');
    },
    [`data:image/png;base64,${png.toString('base64')}`, size] as const,
  );
  const file = join(root, 'docs', 'images', `console-${name}.webp`);
  writeFileSync(file, Buffer.from(webp, 'base64'));
}
await browser.close();
