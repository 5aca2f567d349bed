/** The language of a request, and the menu to choose another. It works without script. */
import { type Html, html } from '@gatehouse/server';
import type { CookieOptions, Request, RequestHandler } from 'express';
import { localAddress } from './addresses.ts';
import { english, type Texts } from './texts-en.ts';
import { chinese } from './texts-zh.ts';

/** A new language is its file of texts and an entry here. The first one is the default. */
const languages: readonly Texts[] = [english, chinese];

export const LANGUAGE_PATH = '/language';
const COOKIE = 'console-language';
const YEAR_MILLISECONDS = 365 * 24 * 60 * 60 * 1000;

/** The chosen language, otherwise that of the browser. */
export function textsFor(request: Request): Texts {
  const [, chosen] =
    /(?:^|;[ \t]*)(?:__Host-)?console-language=([\w-]+)/.exec(request.headers.cookie ?? '') ?? [];
  const named = languages.find(({ language }) => language === chosen);
  const accepted = request.acceptsLanguages(...languages.map(baseOf));
  return named ?? languages.find((texts) => baseOf(texts) === accepted) ?? english;
}

/** `zh` of `zh-CN`: other forms of Chinese are closer to it than English. */
const baseOf = ({ language }: Texts) => language.split('-', 1)[0] ?? language;

/** Remembers a choice, and returns to its page. */
export function chooseLanguage(secure: boolean): RequestHandler {
  const options: CookieOptions = { httpOnly: true, secure, sameSite: 'lax', path: '/' };
  return ({ body }, response) => {
    if (languages.some(({ language }) => language === body?.language)) {
      const name = secure ? `__Host-${COOKIE}` : COOKIE;
      response.cookie(name, body.language, { ...options, maxAge: YEAR_MILLISECONDS });
    }
    response.redirect(303, localAddress(body?.next));
  };
}

/** The address that opens a page again. That of a callback has a code, and that of a form a body. */
export function addressOf({ method, path, originalUrl }: Request): string {
  return method === 'POST' || path === '/callback' ? '/' : originalUrl;
}

export function languageMenu(texts: Texts, address: string): Html {
  const items = languages.map(({ language, languageName }) => {
    const current = language === texts.language ? html` aria-current="true"` : undefined;
    return html`<button type="submit" name="language" value="${language}" lang="${language}" translate="no"${current}>${languageName}</button>`;
  });
  return html`<form class="languages" method="post" action="${LANGUAGE_PATH}" aria-label="${texts.frame.language}">
<input type="hidden" name="next" value="${address}">
${items}
</form>`;
}
