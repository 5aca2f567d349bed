import { type Html, html } from './html.ts';

export const STYLESHEET_PATH = '/assets/pages.css';

export interface Page {
  readonly language: string;
  readonly title: string;
  readonly content: Html;
}

/** One document for every page: works without script, loads nothing but its own stylesheet. */
export function renderPage(page: Page): string {
  return html`<!doctype html>
<html lang="${page.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${page.title}</title>
<link rel="stylesheet" href="${STYLESHEET_PATH}">
</head>
<body>
<main class="card">
<svg class="mark" viewBox="0 0 40 40" width="40" height="40" aria-hidden="true"><path d="M6 36V16a14 14 0 0 1 28 0v20h-7V16a7 7 0 0 0-14 0v20z"/><path d="M17 36V22h6v14z"/></svg>
${page.content}
</main>
</body>
</html>
`.markup;
}
