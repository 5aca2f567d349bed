import { ApiError } from '@gatehouse/errors';
import { addressGroup } from '@gatehouse/server';
import {
  AmbiguousTextError,
  assertReadableQuery,
  canonicalText,
  encodeParameters,
  parseParameters,
  parseRequestTarget,
  splitQueryToken,
} from '@gatehouse/signing';
import { test } from '@jest/globals';
import fc from 'fast-check';
import { readLifetime } from '../src/pipeline/issue-access-token.ts';

/** Characters that cause problems most often. */
const pieces = [
  ...['%', '%2', '%2e', '%2F', '%5c', '%00', '%zz', '%c0%ae', '%ED%A0%80', '%25', '%41'.repeat(50)],
  ...['&', '=', '+', '#', '/', '//', '..', '.', ';', '\\', '?', '@', ':', '[', ']', '{', '}', '"'],
  ...[',', ' ', '\0', '\r\n', 'access_token', 'a', 'Z', '9', 'é', '中', '\u{1f600}', '\ud800'],
  ...['\udc00', '\ufffd', '\u2028', 'http://', '__proto__', 'constructor', '"expires"', '1e999'],
  ...['-0', 'x'.repeat(300)],
];

const parsers: readonly ((text: string) => unknown)[] = [
  parseRequestTarget,
  (text) => parseRequestTarget(`/${text}`),
  splitQueryToken,
  assertReadableQuery,
  (text) => {
    const parameters = parseParameters(text);
    canonicalText(parameters);
    encodeParameters(parameters);
  },
  (text) => readLifetime(text, 2),
  addressGroup,
];

test('The parsers of unverified input accept or reject 50,000 random inputs.', () => {
  const input = fc.array(fc.constantFrom(...pieces), { maxLength: 24 }).map((all) => all.join(''));
  fc.assert(
    fc.property(input, (text) => {
      for (const parse of parsers) {
        try {
          parse(text);
        } catch (error) {
          if (!(error instanceof ApiError || error instanceof AmbiguousTextError)) {
            throw error;
          }
        }
      }
    }),
    { numRuns: 50_000, seed: 1 },
  );
});
