/** The document around every page: navigation, title, notice, language, sign-out. */
import { fill, type Html, html } from '@gatehouse/server';
import { iconPath, scriptPath, stylesheetPath } from './assets.ts';
import { languageMenu } from './languages.ts';
import type { Texts } from './texts-en.ts';

export interface NavigationEntry {
  readonly path: string;
  readonly label: (texts: Texts) => string;
  /** The shapes of a 24 × 24 icon, drawn with lines. */
  readonly icon: Html;
}

export interface DocumentParts {
  readonly texts: Texts;
  readonly title: string;
  readonly content: Html;
  readonly trail?: readonly { readonly address: string; readonly label: string }[];
  readonly tools?: Html | undefined;
  readonly notice?: Html | undefined;
  readonly continuesAt?: string;
  /** Opens this page again. */
  readonly address: string;
  /** Of a signed-in operator. */
  readonly frame?:
    | {
        readonly navigation: readonly NavigationEntry[];
        readonly formToken: string;
        readonly userName: string;
        readonly mayWrite: boolean;
      }
    | undefined;
}

export function renderDocument(parts: DocumentParts): Html {
  const { texts, title, continuesAt, frame } = parts;
  const refresh = continuesAt && html`<meta http-equiv="refresh" content="0;url=${continuesAt}">`;
  return html`<!doctype html>
<html lang="${texts.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
${refresh}
<title>${title} · Gatehouse</title>
<link rel="stylesheet" href="${stylesheetPath}">
<link rel="icon" type="image/svg+xml" href="${iconPath}">
<script src="${scriptPath}" defer></script>
</head>
${frame === undefined ? plainBody(parts) : screenBody(parts, frame)}
</html>
`;
}

const mark = html`<svg class="mark" viewBox="0 0 40 40" width="28" height="28" aria-hidden="true"><path d="M6 36V16a14 14 0 0 1 28 0v20h-7V16a7 7 0 0 0-14 0v20z"/><path d="M17 36V22h6v14z"/></svg>`;

/** Before a sign-in, and after a sign-out. */
function plainBody({ texts, title, content, address }: DocumentParts): Html {
  return html`<body class="alone">
<main class="card">
<p class="brand">${mark}<span translate="no">Gatehouse</span></p>
<h1>${title}</h1>
${content}
</main>
${languageMenu(texts, address)}
</body>`;
}

function screenBody(
  parts: DocumentParts,
  { navigation, formToken, userName, mayWrite }: NonNullable<DocumentParts['frame']>,
): Html {
  const { texts, title, content, trail = [], tools, notice, address } = parts;
  const { frame } = texts;
  const here = `${address.split('?', 1)[0]}/`;
  const entries = navigation.map(({ path, label, icon }) => {
    const current = here.startsWith(`${path}/`) ? html` aria-current="page"` : undefined;
    return html`<a href="${path}"${current}><svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">${icon}</svg>${label(texts)}</a>`;
  });
  const steps = trail.map((link) => html`<li><a href="${link.address}">${link.label}</a></li>`);
  return html`<body>
<a class="skip" href="#content">${frame.skip}</a>
<header class="side">
<p class="brand">${mark}<span translate="no">Gatehouse</span></p>
<input type="checkbox" id="menu" class="unseen" aria-label="${frame.menu}"><label for="menu" class="button" aria-hidden="true">${frame.menu}</label>
<div class="drawer">
<nav class="screens" aria-label="${frame.screens}">${entries}</nav>
<div class="person">
<p>${fill(frame.signedInAs, { name: userName })}</p>
<form method="post" action="/sign-out"><input type="hidden" name="form-token" value="${formToken}"><button type="submit">${frame.signOut}</button></form>
${languageMenu(texts, address)}
</div>
</div>
</header>
<main id="content" tabindex="-1">
${steps.length === 0 ? undefined : html`<ol class="trail">${steps}</ol>`}
<div class="title"><h1>${title}</h1>${tools && html`<div class="tools">${tools}</div>`}</div>
${notice && html`<p class="success" role="status">${notice}</p>`}
${mayWrite ? undefined : html`<p class="hint">${frame.readOnly}</p>`}
<p class="warning" id="live-stopped" role="status" hidden>${frame.stopped} <a href="">${frame.reload}</a></p>
${content}
</main>
</body>`;
}
