import { accountTexts } from './texts/account-texts.ts';
import { deviceTexts } from './texts/device-texts.ts';
import { errorTexts } from './texts/error-texts.ts';
import { logoutTexts } from './texts/logout-texts.ts';
import { scopeTexts } from './texts/scope-texts.ts';
import { signInTexts } from './texts/sign-in-texts.ts';

/** All texts of the pages in all languages. Each part has its own file. */
export const texts = {
  en: {
    ...signInTexts.en,
    ...deviceTexts.en,
    ...logoutTexts.en,
    ...accountTexts.en,
    ...errorTexts.en,
    scopes: scopeTexts.en,
  },
  zh: {
    ...signInTexts.zh,
    ...deviceTexts.zh,
    ...logoutTexts.zh,
    ...accountTexts.zh,
    ...errorTexts.zh,
    scopes: scopeTexts.zh,
  },
} as const;

export type Language = keyof typeof texts;

export interface Texts extends Readonly<Record<PlainText, string>> {
  readonly scopes: Readonly<Record<string, string>>;
}
export type PlainText = Exclude<keyof (typeof texts)['en'], 'scopes'>;

export function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}
