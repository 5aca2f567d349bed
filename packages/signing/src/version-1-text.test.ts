import { describe, expect, test } from '@jest/globals';
import {
  AmbiguousTextError,
  canonicalText,
  encodeParameters,
  parseParameters,
  signedPart,
  toParameters,
} from './version-1-text.ts';

const canonical = (query: string) => canonicalText(parseParameters(query));
const forwarded = (query: string) => encodeParameters(parseParameters(query));

describe('parseParameters', () => {
  test('orders keys by their bytes, unlike a comparison by locale', () => {
    const keys = ['a', 'B', 'b', 'A', '_', 'a1', 'a10', 'a2', 'é', 'Z', '~', '[', '中'];
    const ordered = ['A', 'B', 'Z', '[', '_', 'a', 'a1', 'a10', 'a2', 'b', '~', 'é', '中'];

    const query = keys.map((key) => `${encodeURIComponent(key)}=1`).join('&');

    expect(parseParameters(query).map(([key]) => key)).toEqual(ordered);
    expect([...keys].sort((left, right) => left.localeCompare(right))).not.toEqual(ordered);
  });

  test('orders keys of several Unicode planes by their bytes', () => {
    const alphabet = [...'aZ~é中\uD7FF\uE000\uFFFD\u{10000}\u{1F600}'];
    const keys = alphabet.flatMap((first) => ['', ...alphabet].map((second) => first + second));
    const byBytes = [...keys].sort((left, right) =>
      Buffer.compare(Buffer.from(left), Buffer.from(right)),
    );

    expect(toParameters(keys.map((key) => [key, ''])).map(([key]) => key)).toEqual(byBytes);
  });

  test('joins the values of a repeated key in order of arrival', () => {
    expect(canonical('a=2&b=0&a=1')).toBe('a=2,1&b=0');
  });

  test.each(['a=1&a=2', 'a=1,2', 'a=1%2C2'])(
    'reads %p as the parameters that are also forwarded',
    (query) => {
      expect(canonical(query)).toBe('a=1,2');
      expect(forwarded(query)).toBe('a=1%2C2');
    },
  );

  test.each(['a=1%26b%3D2', 'a=1%26b=2', 'a%26b=1', 'a%3Db=1'])(
    'rejects %p, which looks like other parameters when decoded',
    (query) => {
      expect(() => parseParameters(query)).toThrow(AmbiguousTextError);
    },
  );

  test('keeps an equals sign in a value, because it is not ambiguous', () => {
    expect(canonical('where=name=x')).toBe('where=name=x');
    expect(forwarded('where=name=x')).toBe('where=name%3Dx');
  });

  test.each(['where=a+b', 'where=a%20b'])(
    'decodes %p before signing, with + as a space',
    (query) => {
      expect(canonical(query)).toBe('where=a b');
      expect(forwarded(query)).toBe('where=a%20b');
    },
  );

  test.each([
    ['a=', 'a='],
    ['a', 'a='],
    ['&&', ''],
    ['a=1&', 'a=1'],
    ['', ''],
  ])('reads %p as %p', (query, text) => {
    expect(canonical(query)).toBe(text);
  });

  test.each(['=1', 'a=1&=', '='])('rejects %p, which has a value without a key', (query) => {
    expect(() => parseParameters(query)).toThrow(AmbiguousTextError);
  });

  test.each([
    ...['a=%zz', 'a=%', '%', 'a=%c0%ae', 'a=%00', 'a=%0d%0a', 'a=%7f', 'a=%c2%85', 'a=%ed%a0%80'],
    ...['%00=1'],
  ])('rejects %p', (query) => {
    expect(() => parseParameters(query)).toThrow(AmbiguousTextError);
  });

  test('rejects lone surrogates in decoded text', () => {
    expect(() => toParameters([['a', '\uD800']])).toThrow(AmbiguousTextError);
  });

  test.each(['path=a%2fb', 'path=a%2Fb', '%70ath=a/b'])(
    'reads %p like its other spellings',
    (query) => {
      expect(canonical(query)).toBe('path=a/b');
      expect(forwarded(query)).toBe('path=a%2Fb');
    },
  );
});

const FORM = 'application/x-www-form-urlencoded';

describe('the part of a request that is signed', () => {
  test.each(['GET', 'HEAD', 'DELETE', 'OPTIONS'])('is the query of %s', (method) => {
    expect(signedPart(method, undefined)).toBe('query');
    expect(signedPart(method, FORM)).toBe('query');
  });

  test.each(['POST', 'PUT', 'PATCH'])('is the body of %s', (method) => {
    expect(signedPart(method, 'application/json')).toBe('body');
    expect(signedPart(method, undefined)).toBe('body');
    expect(signedPart(method, `text/plain; note=${FORM}`)).toBe('body');
  });

  test.each([FORM, `${FORM}; charset=utf-8`, `${FORM.toUpperCase()} ;charset=utf-8`])(
    'is the form parameters of a POST with %s',
    (contentType) => {
      expect(signedPart('POST', contentType)).toBe('form');
    },
  );

  test.each(['TRACE', 'CONNECT', 'get', ''])('does not exist for %p', (method) => {
    expect(signedPart(method, undefined)).toBeUndefined();
  });
});
