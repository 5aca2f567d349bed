import { expect, test } from '@jest/globals';
import { languages as texts } from './page.ts';

/** Every text by its path, as `scopes.openid`. */
function flatten(value: object, path = ''): Map<string, string> {
  return new Map(
    Object.entries(value).flatMap(([key, each]: [string, string | object]) =>
      typeof each === 'string' ? [[path + key, each]] : [...flatten(each, `${path}${key}.`)],
    ),
  );
}

const english = flatten(texts.en);
const placesIn = (text = '') => (text.match(/\{\w+\}/g) ?? []).sort();

test('the Chinese texts translate the English ones, with the same placeholders', () => {
  for (const [name, text] of flatten(texts.zh)) {
    expect([name, text]).toEqual([name, expect.stringMatching(/\S/)]);
    expect([name, text]).not.toEqual([name, english.get(name)]);
    expect([name, placesIn(text)]).toEqual([name, placesIn(english.get(name))]);
  }
});
