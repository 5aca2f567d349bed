import { readFileSync } from 'node:fs';
import { readSharedStyles } from '@gatehouse/server';
import type { RequestHandler } from 'express';

/** One stylesheet for all pages, so that browsers load it once. */
export const stylesheet: string = [
  readSharedStyles(),
  ...['base', 'controls', 'content', 'short-windows'].map((name) => readAsset(`${name}.css`)),
].join('\n');

export const serveStylesheet: RequestHandler = serve(stylesheet, 'text/css; charset=utf-8');

export const serveSignInLinkScript: RequestHandler = serve(
  readAsset('sign-in-link.js'),
  'text/javascript; charset=utf-8',
);

export const serveIcon: RequestHandler = serve(readAsset('favicon.svg'), 'image/svg+xml');

export const serveSubmitFormScript: RequestHandler = serve(
  readAsset('submit-form.js'),
  'text/javascript; charset=utf-8',
);

function readAsset(name: string): string {
  return readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8');
}

/** Assets hold nothing personal, so browsers may cache them. */
function serve(content: string, contentType: string): RequestHandler {
  return (_request, response) => {
    response.set({ 'Content-Type': contentType, 'Cache-Control': 'public, max-age=3600' });
    response.end(content);
  };
}
