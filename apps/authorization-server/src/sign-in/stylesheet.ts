import { readFileSync } from 'node:fs';
import type { RequestHandler } from 'express';

const stylesheet = readFileSync(new URL('./assets/pages.css', import.meta.url));

/** The one asset of the pages. Nothing personal in it, so it may be cached. */
export const serveStylesheet: RequestHandler = (_request, response) => {
  response.set({
    'Content-Type': 'text/css; charset=utf-8',
    'Cache-Control': 'public, max-age=3600',
  });
  response.end(stylesheet);
};
