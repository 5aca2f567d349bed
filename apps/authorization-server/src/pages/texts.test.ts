import { describe, expect, test } from '@jest/globals';
import { languages as texts } from './page.ts';

const languages = ['en', 'zh'] as const;

/** Every text by its path, as `scopes.openid`. */
function flatten(value: object, path = ''): Map<string, string> {
  return new Map(
    Object.entries(value).flatMap(([key, each]: [string, string | object]) =>
      typeof each === 'string' ? [[path + key, each]] : [...flatten(each, `${path}${key}.`)],
    ),
  );
}

describe('the texts of the pages', () => {
  test.each(languages)('are complete in %s', (language) => {
    const [here, english] = [flatten(texts[language]), flatten(texts.en)];
    expect([...here.keys()].sort()).toEqual([...english.keys()].sort());
    for (const [name, text] of here) {
      expect([name, text.trim()]).toEqual([name, expect.stringMatching(/\S/)]);
    }
  });

  test.each(languages)('have the same placeholders in %s', (language) => {
    const english = flatten(texts.en);
    const places = (text = '') => (text.match(/\{\w+\}/g) ?? []).sort();
    for (const [name, text] of flatten(texts[language])) {
      expect([name, places(text)]).toEqual([name, places(english.get(name))]);
    }
  });

  test('contain no English in the Chinese texts', () => {
    const english = flatten(texts.en);
    for (const [name, text] of flatten(texts.zh)) {
      expect([name, text]).not.toEqual([name, english.get(name)]);
    }
  });
});
