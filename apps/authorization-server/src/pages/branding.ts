/**
 * What the operator declares about the look of the pages (`branding` of the settings): the top and the
 * foot of a page, and the files that belong to it. A file has the hash of its content in its address,
 * so that browsers keep it.
 */
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import {
  type Brand,
  brandColors,
  type Identity,
  imagesOf,
  noSettings,
  type Settings,
} from '@gatehouse/identity';
import type { RequestHandler } from 'express';
import { LRUCache } from 'lru-cache';
import { contextOf } from '../requests/request-context.ts';
import { type Html, html } from './html.ts';
import { addressOf, languageMenu } from './languages.ts';
import type { Texts } from './texts-en.ts';

export const BRAND_FILES_PATH = '/assets/brand';
const PRODUCT_NAME = 'Gatehouse';

/** The brand of the page's organization, or of the installation. */
export function brandOf(request: IncomingMessage): Brand {
  const { settings = noSettings, orgId } = contextOf(request);
  return settings.brandOf(orgId);
}

export const nameOf = ({ name = PRODUCT_NAME }: Brand): string => name;

export function brandHeader(brand: Brand): Html {
  const { logo, name } = brand;
  if (logo !== undefined) {
    return html`<p class="brand"><img class="logo" src="${BRAND_FILES_PATH}/${logo.hash}" alt="${nameOf(brand)}"></p>`;
  }
  const mark = html`<svg class="mark" viewBox="0 0 40 40" width="32" height="32" aria-hidden="true"><path d="M6 36V16a14 14 0 0 1 28 0v20h-7V16a7 7 0 0 0-14 0v20z"/><path d="M17 36V22h6v14z"/></svg>`;
  return html`<p class="brand">${name === undefined ? mark : undefined}<span translate="no">${nameOf(brand)}</span></p>`;
}

/** The links of the page's head that the brand decides. @param icon without a favicon */
export function brandLinks({ favicon, ...brand }: Brand, icon: string): Html {
  const sheet = stylesheetOf(brand);
  const [type, address] =
    favicon === undefined
      ? ['image/svg+xml', icon]
      : [favicon.type, `${BRAND_FILES_PATH}/${favicon.hash}`];
  return html`<link rel="icon" type="${type}" href="${address}">
${sheet && html`<link rel="stylesheet" href="${BRAND_FILES_PATH}/${sheet.hash}">`}`;
}

export function pageFooter(request: IncomingMessage, texts: Texts, { links = {} }: Brand): Html {
  const items = (['help', 'privacy', 'terms'] as const).flatMap((name) =>
    links[name] === undefined ? [] : html`<a href="${links[name]}">${texts[name]}</a>`,
  );
  return html`<footer class="foot">
${items}
${languageMenu(texts, addressOf(request))}
</footer>`;
}

/** Where users get help: a link if the contact is an address. Undefined if there is none. */
export function contactLink({ contact }: Brand): Html | undefined {
  if (contact === undefined) {
    return undefined;
  }
  const isMail = /^[^\s@]+@[^\s@]+$/.test(contact);
  const address = isMail ? `mailto:${contact}` : contact;
  return isMail || contact.startsWith('https://')
    ? html`<a href="${address}" translate="no">${contact}</a>`
    : html`<bdi>${contact}</bdi>`;
}

/** The colors of a brand, after the stylesheet of all pages. They are checked values. */
function stylesheetOf(brand: Brand): { readonly hash: string; readonly css: string } | undefined {
  const [light = '', dark = ''] = (['light', 'dark'] as const).map((scheme) => {
    const colors = Object.entries(brandColors(brand, scheme) ?? {});
    return colors.map(([name, color]) => `--${name}:${color};`).join('');
  });
  const css = `:root{${light}}\n@media (prefers-color-scheme:dark){:root{${dark}}}\n`;
  return light + dark === '' ? undefined : { hash: hash('sha256', css, 'base64url'), css };
}

interface BrandFile {
  readonly type: string;
  /** Undefined for an image, which is in the store. */
  readonly css?: string;
}

function listFiles(settings: Settings) {
  const { branding } = settings.definition;
  const files = new Map<string, BrandFile>(imagesOf(branding).map((each) => [each.hash, each]));
  for (const orgId of [undefined, ...Object.keys(branding?.organizations ?? {})]) {
    const sheet = stylesheetOf(settings.brandOf(orgId));
    if (sheet !== undefined) {
      files.set(sheet.hash, { type: 'text/css; charset=utf-8', css: sheet.css });
    }
  }
  return { settings, files };
}

/**
 * Serves what a brand of the settings names, and nothing else. A vector image is a document with
 * scripts if a browser opens its address: the policy blocks them, and puts it into an origin of its own.
 */
export function serveBrandFiles({ settings }: Pick<Identity, 'settings'>): RequestHandler {
  const images = new LRUCache<string, Buffer>({ max: 100 });
  let listed: ReturnType<typeof listFiles> | undefined;
  return async (request, response, next) => {
    const current = await settings.read();
    // The same object as long as nothing changes.
    listed = listed?.settings === current ? listed : listFiles(current);
    const wanted = String(request.params.hash);
    const file = listed.files.get(wanted);
    const content = file && (file.css ?? images.get(wanted) ?? (await settings.readImage(wanted)));
    if (file === undefined || content === undefined) {
      next();
      return;
    }
    if (Buffer.isBuffer(content)) {
      images.set(wanted, content);
    }
    response.set({
      'Content-Type': file.type,
      'Content-Security-Policy': "default-src 'none';style-src 'unsafe-inline';sandbox",
      'Cache-Control': 'public, max-age=31536000, immutable',
    });
    response.end(content);
  };
}
