/**
 * The languages of the pages: their list, the one of a request, and the menu to choose another. The
 * menu is a form, so it works without script, and a cookie remembers the choice.
 */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { fill, type Html, html } from '@gatehouse/server';
import type { RequestHandler } from 'express';
import { german } from './texts-de.ts';
import { english, type Texts } from './texts-en.ts';
import { spanish } from './texts-es.ts';
import { french } from './texts-fr.ts';
import { japanese } from './texts-ja.ts';
import { korean } from './texts-ko.ts';
import { portuguese } from './texts-pt.ts';
import { chinese } from './texts-zh.ts';
import { traditionalChinese } from './texts-zh-tw.ts';

/** A new language is its file of texts and an entry here. The first one is the default. */
export const languages: readonly Texts[] = [
  english,
  chinese,
  traditionalChinese,
  japanese,
  korean,
  german,
  french,
  spanish,
  portuguese,
];

export const LANGUAGE_PATH = '/language';
const YEAR_MILLISECONDS = 365 * 24 * 60 * 60 * 1000;
/** A browser sends a few. */
const MAXIMUM_PREFERENCES = 20;

interface LanguageRequest {
  readonly headers: IncomingHttpHeaders;
  acceptsLanguages(): string[];
}

/**
 * The texts of a page, in the language that the application names (`ui_locales`, OpenID Connect
 * Core §3.1.2.1), otherwise the one that the user chose, otherwise the one of the browser.
 *
 * @param request of Express, or the context of Koa
 * @param interaction a choice on one of its own pages precedes `ui_locales`
 */
export function textsFor(
  request: LanguageRequest,
  uiLocales?: unknown,
  interaction?: string,
): Texts {
  const choice = choiceOf(request.headers.cookie);
  const isOfInteraction = interaction !== undefined && choice.interaction === interaction;
  const named = typeof uiLocales === 'string' && !isOfInteraction ? uiLocales.split(' ') : [];
  const preferred = [...named, choice.language, ...request.acceptsLanguages()];
  for (const each of preferred.slice(0, MAXIMUM_PREFERENCES)) {
    const found = closest(each);
    if (found !== undefined) {
      return found;
    }
  }
  return english;
}

/** The texts of a mail, which is no reply to a request. @param tag a BCP 47 tag */
export function textsOf(tag = ''): Texts {
  return closest(tag) ?? english;
}

const known = languages.map((texts) => ({
  texts,
  locale: new Intl.Locale(texts.language).maximize(),
}));

/** In the same script if there is one: `zh-HK` is read as `zh-TW`, and `pt-PT` as `pt-BR`. */
function closest(tag: string): Texts | undefined {
  let wanted: Intl.Locale;
  try {
    wanted = new Intl.Locale(tag).maximize();
  } catch {
    // It is no language, such as *.
    return undefined;
  }
  const same = known.filter(({ locale }) => locale.language === wanted.language);
  return (same.find(({ locale }) => locale.script === wanted.script) ?? same[0])?.texts;
}

/** A time would need the user's time zone, which is unknown. @param seconds since the epoch */
export function dayOf(seconds: number, { language }: Texts): string {
  const format = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeZone: 'UTC' });
  return format.format(seconds * 1000);
}

/** As in a sentence: "1 minute". */
export function minutesOf(minutes: number, { language }: Texts): string {
  const unit = { style: 'unit', unit: 'minute', unitDisplay: 'long' } as const;
  return new Intl.NumberFormat(language, unit).format(minutes);
}

/** @param type the word before the last one: "and", or "or" */
export function listOf(
  items: readonly string[],
  { language }: Texts,
  type: 'conjunction' | 'disjunction',
): string {
  return new Intl.ListFormat(language, { type }).format(items);
}

/** A browser of which only these words are known (requests/user-agent.ts). */
export function browserName(
  {
    browser,
    system,
  }: { readonly browser?: string | undefined; readonly system?: string | undefined },
  { browserUnknown, browserOn }: Texts,
): string {
  const name = browser ?? browserUnknown;
  return system === undefined ? name : fill(browserOn, { browser: name, system });
}

/** The language in the cookie, and the interaction on whose page the user chose it. */
function choiceOf(cookies = '') {
  const [, language = '', interaction] =
    /(?:^|; )(?:__Host-)?language=([\w-]+)(?:\.([\w-]+))?/.exec(cookies) ?? [];
  return { language, interaction };
}

/** Remembers a choice, and returns to its page. */
export function chooseLanguage(secure: boolean): RequestHandler {
  return ({ body }, response) => {
    const address = localAddress(body?.next);
    const texts = languages.find(({ language }) => language === body?.language);
    if (texts !== undefined) {
      const [, interaction] = /^\/sign-in\/([\w-]+)/.exec(address.pathname) ?? [];
      const value = interaction === undefined ? texts.language : `${texts.language}.${interaction}`;
      response.cookie(secure ? '__Host-language' : 'language', value, {
        maxAge: YEAR_MILLISECONDS,
        httpOnly: true,
        sameSite: 'lax',
        secure,
      });
      // It would override the choice.
      address.searchParams.delete('ui_locales');
    }
    response.redirect(303, address.pathname + address.search);
  };
}

/** An address of this server, or the start page. Without its host, a redirect cannot lead away. */
export function localAddress(value: unknown): URL {
  const base = 'http://unused.invalid';
  const url = typeof value === 'string' ? URL.parse(value, base) : null;
  return url?.origin === base && !url.pathname.startsWith('//') ? url : new URL('/', base);
}

/** The address that opens a page again. Express keeps it where a router removes its beginning. */
export function addressOf(request: IncomingMessage & { readonly originalUrl?: string }): string {
  const { pathname, search } = localAddress(request.originalUrl ?? request.url);
  return pathname + search;
}

export function languageMenu(texts: Texts, address: string): Html {
  const items = languages.map(({ language, languageName }) => {
    const current = language === texts.language ? html` aria-current="true"` : undefined;
    return html`<button type="submit" name="language" value="${language}" lang="${language}" translate="no"${current}>${languageName}</button>`;
  });
  return html`<details class="languages">
<summary><svg viewBox="0 0 24 24" width="18" height="18" aria-hidden="true"><circle cx="12" cy="12" r="9"/><ellipse cx="12" cy="12" rx="4" ry="9"/><path d="M3 12h18"/></svg><span class="unseen">${texts.languageMenu}: </span>${texts.languageName}</summary>
<form method="post" action="${LANGUAGE_PATH}">
<input type="hidden" name="next" value="${address}">
${items}
</form>
</details>`;
}
