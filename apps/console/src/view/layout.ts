/** The document around every page: navigation, title, notice, language, sign-out. */
import { fill, type Html, html } from '@gatehouse/server';
import { iconPath, scriptPath, stylesheetPath } from './assets.ts';
import { languageMenu } from './languages.ts';
import type { Texts } from './texts-en.ts';

export interface Link {
  readonly address: string;
  readonly label: string;
}

export interface DocumentParts {
  readonly texts: Texts;
  readonly title: string;
  readonly content: Html;
  /** The screens above this one. */
  readonly trail?: readonly Link[];
  /** Buttons next to the title. */
  readonly tools?: Html | undefined;
  readonly notice?: string | undefined;
  /** The page opens this address by itself. */
  readonly continuesAt?: string;
  /** Opens this page again. */
  readonly address: string;
  /** Of a signed-in operator. */
  readonly frame?:
    | {
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

/** The screens of the navigation in its order, drawn with lines on 24 × 24. */
const icons = {
  overview: html`<path d="M3 20h18M6 16v-4M11 16V6M16 16v-7M21 16v-2"/>`,
  requests: html`<path d="M4 8h14m-4-4 4 4-4 4M20 16H6m4-4-4 4 4 4"/>`,
  clients: html`<rect x="3.5" y="4" width="17" height="6.5" rx="1.5"/><rect x="3.5" y="13.5" width="17" height="6.5" rx="1.5"/><path d="M7 7.25h.01M7 16.75h.01M11 7.25h6M11 16.75h6"/>`,
  organizations: html`<path d="M4 20V6l8-3 8 3v14M4 20h16M9 20v-4h6v4M8 9h.01M12 9h.01M16 9h.01M8 12.5h.01M12 12.5h.01M16 12.5h.01"/>`,
  users: html`<circle cx="12" cy="8" r="4"/><path d="M4 20.5c1-4 4-6 8-6s7 2 8 6"/>`,
  devices: html`<rect x="6" y="6" width="12" height="12" rx="2"/><path d="M9.5 6V3M14.5 6V3M9.5 21v-3M14.5 21v-3M6 9.5H3M6 14.5H3M21 9.5h-3M21 14.5h-3"/>`,
  tokens: html`<circle cx="8" cy="15" r="4.5"/><path d="M11.2 11.8 20 3M16 7l3 3M13.5 9.5l2 2"/>`,
  audit: html`<path d="M6 3.5h9l3.5 3.5v13.5H6zM9 10h6.5M9 13.5h6.5M9 17h4"/>`,
  keys: html`<path d="M12 3.5 19.5 6v5.5c0 4.5-3 7.5-7.5 9-4.5-1.5-7.5-4.5-7.5-9V6zM12 10.5V15"/><circle cx="12" cy="9.5" r="1.25"/>`,
  settings: html`<path d="M4 7h9M17 7h3M4 17h3M11 17h9"/><circle cx="15" cy="7" r="2"/><circle cx="9" cy="17" r="2"/>`,
} as const;

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
  { formToken, userName, mayWrite }: NonNullable<DocumentParts['frame']>,
): Html {
  const { texts, title, content, trail = [], tools, notice, address } = parts;
  const { frame } = texts;
  const here = `${address.split('?', 1)[0]}/`;
  const entries = Object.entries(icons).map(([name, icon]) => {
    const current = here.startsWith(`/${name}/`) ? html` aria-current="page"` : undefined;
    const label = texts[name as keyof typeof icons].title;
    return html`<a href="/${name}"${current}><svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">${icon}</svg>${label}</a>`;
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
