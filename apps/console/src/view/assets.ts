/** The files of the pages. Their names change with their content, so browsers keep them. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readSharedStyles } from '@gatehouse/server';
import type { Express } from 'express';

const read = (name: string) => readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8');

const stylesheet = [
  readSharedStyles(),
  ...['frame', 'content', 'lists', 'plots'].map((name) => read(`${name}.css`)),
].join('\n');
const script = read('console.js');
const icon = read('favicon.svg');

const named = (name: string, content: string, extension: string) =>
  `/assets/${name}.${hash('sha256', content, 'hex').slice(0, 12)}.${extension}`;

export const stylesheetPath = named('console', stylesheet, 'css');
export const scriptPath = named('console', script, 'js');
export const iconPath = named('icon', icon, 'svg');

export function addAssets(app: Express): void {
  for (const [path, type, content] of [
    [stylesheetPath, 'text/css', stylesheet],
    [scriptPath, 'text/javascript', script],
    [iconPath, 'image/svg+xml', icon],
  ] as const) {
    app.get(path, (_request, response) => {
      response.set({
        'Content-Type': `${type}; charset=utf-8`,
        'Cache-Control': 'public, max-age=31536000, immutable',
      });
      response.end(content);
    });
  }
}
