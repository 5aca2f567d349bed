/** The stylesheet, icon and scripts of the pages, which browsers may cache. */
import { readFileSync } from 'node:fs';
import { readSharedStyles } from '@gatehouse/server';
import type { Express } from 'express';
import { type OperationName, operation } from '../requests/routes.ts';

export const STYLESHEET_PATH = '/assets/pages.css';
export const ICON_PATH = '/assets/favicon.svg';
export const SIGN_IN_LINK_SCRIPT_PATH = '/assets/sign-in-link.js';
export const SHOW_PASSWORD_SCRIPT_PATH = '/assets/show-password.js';
export const PASSKEY_SCRIPT_PATH = '/assets/passkey.js';
export const SUBMIT_FORM_SCRIPT_PATH = '/assets/submit-form.js';

/** One stylesheet for all pages, so that browsers load it once. */
const stylesheet: string = [
  readSharedStyles(),
  ...['base', 'controls', 'content', 'short-windows'].map((name) => readAsset(`${name}.css`)),
].join('\n');

/** Assets hold nothing personal, so browsers may cache them. */
export function addAssets(app: Express): void {
  const add = (path: string, name: OperationName, type: string, content: string) =>
    app.get(path, operation(name), (_request, response) => {
      response.set({ 'Content-Type': type, 'Cache-Control': 'public, max-age=3600' });
      response.end(content);
    });
  const SCRIPT = 'text/javascript; charset=utf-8';
  add(STYLESHEET_PATH, 'stylesheet', 'text/css; charset=utf-8', stylesheet);
  add(ICON_PATH, 'icon', 'image/svg+xml', readAsset('favicon.svg'));
  add(SIGN_IN_LINK_SCRIPT_PATH, 'script', SCRIPT, readAsset('sign-in-link.js'));
  add(SHOW_PASSWORD_SCRIPT_PATH, 'script', SCRIPT, readAsset('show-password.js'));
  add(PASSKEY_SCRIPT_PATH, 'script', SCRIPT, readAsset('passkey.js'));
  add(SUBMIT_FORM_SCRIPT_PATH, 'script', SCRIPT, readAsset('submit-form.js'));
}

function readAsset(name: string): string {
  return readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8');
}
