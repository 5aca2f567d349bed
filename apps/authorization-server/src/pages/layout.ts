import { type Html, html } from './html.ts';

export const STYLESHEET_PATH = '/assets/pages.css';
export const ICON_PATH = '/assets/favicon.svg';
export const PRODUCT_NAME = 'Gatehouse';

export interface Page {
  readonly language: string;
  readonly title: string;
  readonly content: Html;
  /** For lists. A form reads best in a narrow column. */
  readonly wide?: boolean | undefined;
  /** Address of the one script of a page that has one. */
  readonly script?: string | undefined;
}

/** The document of every page. It works without scripts and loads only Gatehouse's own files. */
export function renderPage(page: Page): string {
  return html`<!doctype html>
<html lang="${page.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${page.title} · ${PRODUCT_NAME}</title>
<link rel="icon" type="image/svg+xml" href="${ICON_PATH}">
<link rel="stylesheet" href="${STYLESHEET_PATH}">
${page.script === undefined ? undefined : html`<script src="${page.script}" defer></script>`}
</head>
<body>
<main class="${page.wide === true ? 'card wide' : 'card'}">
<p class="brand"><svg class="mark" viewBox="0 0 40 40" width="32" height="32" aria-hidden="true"><path d="M6 36V16a14 14 0 0 1 28 0v20h-7V16a7 7 0 0 0-14 0v20z"/><path d="M17 36V22h6v14z"/></svg><span translate="no">${PRODUCT_NAME}</span></p>
${page.content}
</main>
</body>
</html>
`.markup;
}
