/** What every page has: its language, its document, its forms, and how it is sent. */

import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import {
  deriveKeys,
  describeScope,
  findScope,
  type MasterKey,
  type Settings,
} from '@gatehouse/identity';
import { foreignName, type Html, html } from '@gatehouse/server';
import { type Request, type RequestHandler, type Response, urlencoded } from 'express';
import type { KoaContextWithOIDC, Session } from 'oidc-provider';
import { contextOf } from '../requests/request-context.ts';
import { ICON_PATH, STYLESHEET_PATH } from './assets.ts';
import { brandHeader, brandLinks, brandOf, nameOf, pageFooter } from './branding.ts';
import { textsFor } from './languages.ts';
import type { TextName, Texts } from './texts-en.ts';

export { textsFor };

export interface Page {
  readonly texts: Texts;
  readonly title: string;
  /** If it is more than the title. */
  readonly heading?: Html | undefined;
  readonly content: Html;
  /** For lists. A form reads best in a narrow column. */
  readonly wide?: boolean;
  /** Addresses of its scripts. */
  readonly scripts?: readonly string[];
  /**
   * Origins (or app schemes) that the redirect after a form may lead to: Chromium applies
   * `form-action` to that redirect as well.
   */
  readonly formTargets?: readonly string[];
}

export function sendPage(response: Response, page: Page): void {
  response.set('Content-Security-Policy', contentSecurityPolicy(page));
  response.type('html').end(renderPage(page, response.req));
}

/** Sends a page as the reply of the provider. */
export function showPage(
  context: Pick<KoaContextWithOIDC, 'type' | 'body' | 'set' | 'req'> & {
    readonly oidc?: Pick<KoaContextWithOIDC['oidc'], 'client'> | undefined;
  },
  page: Page,
): void {
  const orgId = context.oidc?.client?.orgId;
  if (typeof orgId === 'string' && orgId !== '') {
    contextOf(context.req).orgId = orgId;
  }
  context.set('Content-Security-Policy', contentSecurityPolicy(page));
  context.type = 'html';
  context.body = renderPage(page, context.req);
}

type PageNeeds = Pick<Page, 'scripts' | 'formTargets'>;

/** What a page needs in addition to its stylesheet and forms that post to this server. */
export function contentSecurityPolicy({ scripts = [], formTargets = [] }: PageNeeds = {}): string {
  return [
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self'",
    ...(scripts.length === 0 ? [] : ["script-src 'self'"]),
    ["form-action 'self'", ...formTargets].join(' '),
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join(';');
}

/** The document of every page. It works without scripts and loads only Gatehouse's own files. */
function renderPage(page: Page, request: IncomingMessage): string {
  const { texts, title, heading, content, wide, scripts = [] } = page;
  const { direction } = texts;
  const brand = brandOf(request);
  return html`<!doctype html>
<html lang="${texts.language}"${direction && html` dir="${direction}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} · ${nameOf(brand)}</title>
<link rel="stylesheet" href="${STYLESHEET_PATH}">
${brandLinks(brand, ICON_PATH)}
${scripts.map((script) => html`<script src="${script}" defer></script>`)}
</head>
<body>
<main class="${wide === true ? 'card wide' : 'card'}">
${brandHeader(brand)}
${heading ?? html`<h1>${title}</h1>`}
${content}
</main>
${pageFooter(request, texts, brand)}
</body>
</html>
`.markup;
}

/**
 * The requested scopes in words, by resource. The built-in ones come first. A scope without a text
 * is shown as it is.
 */
export function scopeList(scopes: readonly string[], texts: Texts, settings: Settings): Html {
  const item = (scope: string) => {
    const declared = findScope(scope, settings);
    const text = declared ? describeScope(declared, texts.language) : texts.scopes[scope];
    return html`<li>${foreignName(text ?? scope)}</li>`;
  };
  const groups = Map.groupBy(scopes, (scope) => findScope(scope, settings)?.resource.name ?? '');
  return html`${[...groups]
    .sort(([a], [b]) => Number(a !== '') - Number(b !== ''))
    .map(([name, members]) => {
      const heading = name === '' ? undefined : html`<p class="resource">${foreignName(name)}</p>`;
      return html`${heading}<ul class="scopes">${members.map(item)}</ul>`;
    })}`;
}

export type CsrfTokens = ReturnType<typeof createCsrfTokens>;

/**
 * The tokens of the forms of one interaction or one signed-in session. Its owner is a value that
 * only that browser's record holds. A session gets a new one at every sign-in.
 */
export function createCsrfTokens(masterKey: MasterKey) {
  const { keys, refresh } = deriveKeys(masterKey, 'csrf');
  const compute = (key: Buffer, owner: string) =>
    createHmac('sha256', createSecretKey(key)).update(owner).digest();
  const verifyWithAnyKey = (owner: string, given: Buffer) =>
    keys().some((key) => {
      const expected = compute(key, owner);
      return given.length === expected.length && timingSafeEqual(given, expected);
    });
  return {
    issue: (owner: string) => compute(keys()[0], owner).toString('base64url'),
    verify(owner: string, presented: unknown): boolean {
      const given = Buffer.from(typeof presented === 'string' ? presented : '', 'base64url');
      return verifyWithAnyKey(owner, given) || (refresh() && verifyWithAnyKey(owner, given));
    },
  };
}

export function csrfField(token: string): Html {
  return html`<input type="hidden" name="csrf" value="${token}">`;
}

/** The token of a form that the library verifies. */
export function xsrfField(session: Session | undefined): Html {
  return html`<input type="hidden" name="xsrf" value="${String(session?.state?.secret ?? '')}">`;
}

/** A problem with what the user typed, above the form. Fields refer to it by its id. */
export function problemNotice(problem: string | Html | undefined): Html | undefined {
  return problem === undefined
    ? undefined
    : html`<p class="problem" role="alert" id="problem">${problem}</p>`;
}

/** The link or links below the text or form of a page. */
export function linkButton(address: string, label: string): Html {
  return html`<p class="actions"><a class="button" href="${address}">${label}</a></p>`;
}

/** By their names. */
export type NoticeTexts = Readonly<Record<'title' | 'text', TextName>>;

/** A page with one sentence, and the link that continues. */
export function noticePage(
  { title, text }: NoticeTexts,
  next: { readonly address: string; readonly label: TextName },
): RequestHandler {
  return (request, response) => {
    const texts = textsFor(request);
    const content = html`<p>${texts[text]}</p>
${linkButton(next.address, texts[next.label])}`;
    sendPage(response, { texts, title: texts[title], content });
  };
}

/** Reads the body of a page's form: a few short fields. */
export const parseForm: RequestHandler = urlencoded({
  extended: false,
  limit: '16kb',
  parameterLimit: 20,
});

/** A field of the form; empty when the field is missing or repeated. */
export function formField(request: Request, name: string): string {
  const value: unknown = request.body?.[name];
  return typeof value === 'string' ? value : '';
}

/**
 * The `form-action` source for the redirect after a form: the origin of the client's redirect URI.
 * The custom scheme of an app has no origin, so the scheme itself is the source.
 */
export function formTargetsOf(redirectUri: unknown): readonly string[] {
  const url = typeof redirectUri === 'string' ? URL.parse(redirectUri) : null;
  if (url === null) {
    return [];
  }
  // Browsers accept no IPv6 address as a source, so the scheme is used.
  const hasOrigin = url.origin !== 'null' && !url.hostname.startsWith('[');
  return [hasOrigin ? url.origin : url.protocol];
}

/** False for the second page of a browser that blocks cookies, because the first page sets one. */
export function hasCookies({ headers }: IncomingMessage): boolean {
  return headers.cookie !== undefined;
}
