import { expect, test } from '@jest/globals';
import { languages } from './languages.ts';
import { english } from './texts-en.ts';

/** Every text by its path, as `scopes.openid`. */
function flatten(value: object, path = ''): Map<string, string> {
  return new Map(
    Object.entries(value).flatMap(([key, each]: [string, string | object]) =>
      typeof each === 'string' ? [[path + key, each]] : [...flatten(each, `${path}${key}.`)],
    ),
  );
}

const expected = flatten(english);
const placesIn = (text = '') => (text.match(/\{\w+\}/g) ?? []).sort();
const namesOf = (texts: ReadonlyMap<string, string>) =>
  [...texts.keys()].filter((name) => name !== 'direction').sort();

test.each(languages.slice(1).map((texts) => [texts.language, flatten(texts)] as const))(
  'the language %s has every text of English, with the same placeholders',
  (_language, texts) => {
    expect(namesOf(texts)).toEqual(namesOf(expected));
    for (const [name, text] of texts) {
      const original = expected.get(name) ?? '';
      expect([name, text]).toEqual([name, expect.stringMatching(/\S/)]);
      expect([name, placesIn(text)]).toEqual([name, placesIn(original)]);
      // Some words are the same in two languages, but no sentence is.
      const isSentence = original.split(' ').length > 2;
      expect([name, isSentence && text === original]).toEqual([name, false]);
    }
  },
);

test('no two languages have the same code or name', () => {
  for (const member of ['language', 'languageName'] as const) {
    expect(new Set(languages.map((texts) => texts[member])).size).toBe(languages.length);
  }
});
