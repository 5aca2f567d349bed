/** The stylesheet, icon and scripts of the pages, which browsers may cache. */
import { readFileSync } from 'node:fs';
import { readSharedStyles } from '@gatehouse/server';
import type { RequestHandler } from 'express';

export const STYLESHEET_PATH = '/assets/pages.css';
export const ICON_PATH = '/assets/favicon.svg';
export const SIGN_IN_LINK_SCRIPT_PATH = '/assets/sign-in-link.js';
export const SUBMIT_FORM_SCRIPT_PATH = '/assets/submit-form.js';

/** One stylesheet for all pages, so that browsers load it once. */
export const stylesheet: string = [
  readSharedStyles(),
  ...['base', 'controls', 'content', 'short-windows'].map((name) => readAsset(`${name}.css`)),
].join('\n');

export const serveStylesheet = serve(stylesheet, 'text/css; charset=utf-8');
export const serveIcon = serve(readAsset('favicon.svg'), 'image/svg+xml');
export const serveSignInLinkScript = serveScript('sign-in-link.js');
export const serveSubmitFormScript = serveScript('submit-form.js');

function readAsset(name: string): string {
  return readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8');
}

function serveScript(name: string): RequestHandler {
  return serve(readAsset(name), 'text/javascript; charset=utf-8');
}

/** Assets hold nothing personal, so browsers may cache them. */
function serve(content: string, contentType: string): RequestHandler {
  return (_request, response) => {
    response.set({ 'Content-Type': contentType, 'Cache-Control': 'public, max-age=3600' });
    response.end(content);
  };
}
