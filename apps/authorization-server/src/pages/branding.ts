/**
 * What the operator declares about the look of the pages (`branding` of the settings): the top and the
 * foot of a page, and its colors. brand-files.ts serves the files.
 */

import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type Brand, noSettings } from '@gatehouse/identity';
import { type Html, html } from '@gatehouse/server';
import { contextOf } from '../requests/request-context.ts';
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
export function stylesheetOf(
  brand: Brand,
): { readonly hash: string; readonly css: string } | undefined {
  const [light = '', dark = ''] = (['light', 'dark'] as const).map((scheme) => {
    const { accent, ground } = brand.colors?.[scheme] ?? {};
    // The second one is under the pointer.
    const accents = `--accent:${accent};--accent-strong:color-mix(in srgb,${accent} 75%,var(--text));`;
    return (accent ? accents : '') + (ground ? `--ground:${ground};` : '');
  });
  const css = `:root{${light}}\n@media (prefers-color-scheme:dark){:root{${dark}}}\n`;
  return light + dark === '' ? undefined : { hash: hash('sha256', css, 'base64url'), css };
}
