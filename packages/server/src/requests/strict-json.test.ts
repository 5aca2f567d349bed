import { describe, expect, test } from '@jest/globals';
import { parseStrictJson, StrictJsonError } from './strict-json.ts';

describe('parseStrictJson', () => {
  test.each([
    ['{}'],
    ['[]'],
    ['"a{b[c,\\"d\\":\\\\"'],
    ['{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}'],
    ['[{"a":1},"a","a",{"b":["a","a",{"a":2}]}]'],
    ['{"a":"a","b":"a","":"","c":[]}'],
    ['{"constructor":"x","toString":"y"}'],
    [' { "a" : [ 1 , 2 ] , "b" : { "c" : null } , "d" : true } '],
    ['{"\\"":1,"\\\\":2,"\\\\\\"":3}'],
    ['-1.5e3'],
  ])('parses %s like JSON.parse', (text) => {
    expect(parseStrictJson(text)).toEqual(JSON.parse(text));
  });

  test.each([
    ['a repeated name', '{"a":1,"a":1}', 'repeats a member name at character 7'],
    ['a name repeated after a container', '{"a":{"b":[]},"a":1}', 'character 14'],
    ['a name repeated in an array', '[[{"x":1,"y":2,"x":3}]]', 'repeats'],
    ['a name repeated with an escape', '{"\\u0061":1,"a":2}', 'repeats'],
    ['an empty name repeated', '{"":1,"":2}', 'repeats'],
    ['__proto__', '{"a":{"__proto__":{}}}', 'forbidden'],
    ['__proto__ with an escape', '{"\\u005f_proto__":1}', 'forbidden'],
    ['a byte order mark', '\uFEFF{}', 'byte order mark'],
    ['trailing data', '{} {}', 'not valid JSON'],
    ['a comment', '{/**/}', 'not valid JSON'],
    ['a trailing comma', '[1,]', 'not valid JSON'],
    ['NaN', '[NaN]', 'not valid JSON'],
    ['nothing', '', 'not valid JSON'],
  ])('rejects %s', (_name, text, message) => {
    expect(() => parseStrictJson(text)).toThrow(StrictJsonError);
    expect(() => parseStrictJson(text)).toThrow(message);
  });

  test('accepts 64 levels of nesting and rejects 65', () => {
    expect(() => parseStrictJson('['.repeat(64) + ']'.repeat(64))).not.toThrow();
    expect(() => parseStrictJson('['.repeat(65) + ']'.repeat(65))).toThrow('deeper than 64');
    expect(() => parseStrictJson(`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`)).toThrow(
      'deeper than 64',
    );
  });

  test('does not quote the rejected text', () => {
    const secret = 'canary-value';
    expect.assertions(3);
    for (const text of [`{"${secret}":1,"${secret}":2}`, `{"a":"${secret}`, `${secret}`]) {
      try {
        parseStrictJson(text);
      } catch (error) {
        expect(String(error)).not.toContain(secret);
      }
    }
  });
});
