import { type Language, type Texts, texts } from './texts.ts';

export interface PageLanguage {
  /** For the `lang` attribute. */
  readonly language: string;
  readonly texts: Texts;
}

const languages = Object.keys(texts) as Language[];

/** Both Express and Koa have this method. */
interface AcceptingRequest {
  acceptsLanguages(languages: string[]): string | string[] | false;
}

/**
 * The language of a page: from the application (`ui_locales`, OpenID Connect Core §3.1.2.1),
 * otherwise from the browser, otherwise English.
 */
export function pageLanguage(request: AcceptingRequest, uiLocales?: unknown): PageLanguage {
  const named = typeof uiLocales === 'string' ? uiLocales.split(' ') : [];
  const chosen =
    named.map((locale) => locale.toLowerCase().split('-')[0]).find(isSupported) ??
    request.acceptsLanguages(languages);
  const language = isSupported(chosen) ? chosen : 'en';
  return { language: language === 'zh' ? 'zh-CN' : 'en', texts: texts[language] };
}

function isSupported(language: unknown): language is Language {
  return languages.some((supported) => supported === language);
}

/**
 * A day in the format of this language. A time would need the user's time zone, which is unknown.
 */
export function formatDay(epochSeconds: number, language: string): string {
  const format = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeZone: 'UTC' });
  return format.format(epochSeconds * 1000);
}
