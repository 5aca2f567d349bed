import { describe, expect, test } from '@jest/globals';
import { languages as texts } from './page.ts';

/** Every text by its path, as `scopes.openid`. */
function flatten(value: object, path = ''): Map<string, string> {
  return new Map(
    Object.entries(value).flatMap(([key, each]: [string, string | object]) =>
      typeof each === 'string' ? [[path + key, each]] : [...flatten(each, `${path}${key}.`)],
    ),
  );
}

describe('the texts of the pages', () => {
  test('name the same scopes, and have no empty text', () => {
    expect(Object.keys(texts.zh.scopes)).toEqual(Object.keys(texts.en.scopes));
    for (const [name, text] of [...flatten(texts.en), ...flatten(texts.zh)]) {
      expect([name, text]).toEqual([name, expect.stringMatching(/\S/)]);
    }
  });

  test('have the same placeholders in Chinese', () => {
    const english = flatten(texts.en);
    const places = (text = '') => (text.match(/\{\w+\}/g) ?? []).sort();
    for (const [name, text] of flatten(texts.zh)) {
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
