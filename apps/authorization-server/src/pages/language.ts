import { type Language, type Texts, texts } from './texts.ts';

export interface PageLanguage {
  /** For the `lang` attribute. */
  readonly language: string;
  readonly texts: Texts;
}

const languages = Object.keys(texts) as Language[];

/** Express and Koa both ask a request this way. */
interface AcceptingRequest {
  acceptsLanguages(languages: string[]): string | string[] | false;
}

/**
 * The language a person reads best: what the application says of them (`ui_locales`, OpenID Connect Core
 * §3.1.2.1), else what the browser says, else English.
 */
export function pageLanguage(request: AcceptingRequest, uiLocales?: unknown): PageLanguage {
  const named = typeof uiLocales === 'string' ? uiLocales.split(' ') : [];
  const chosen =
    named.map((locale) => locale.toLowerCase().split('-')[0]).find(isSpoken) ??
    request.acceptsLanguages(languages);
  const language = isSpoken(chosen) ? chosen : 'en';
  return { language: language === 'zh' ? 'zh-CN' : 'en', texts: texts[language] };
}

function isSpoken(language: unknown): language is Language {
  return languages.some((spoken) => spoken === language);
}

/** A day as this language writes it; the time zone is not known here, so nothing finer is claimed. */
export function formatDay(epochSeconds: number, language: string): string {
  const format = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeZone: 'UTC' });
  return format.format(epochSeconds * 1000);
}
