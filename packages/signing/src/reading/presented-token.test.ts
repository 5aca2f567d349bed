import { expect, test } from '@jest/globals';
import {
  type PresentedToken,
  readBearerToken,
  readQueryToken,
  readXAccessToken,
  unknownTokenMistake,
} from './presented-token.ts';

const TOKEN = 'kXhnR0b2vY6cM1pFz7';
const jwt = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln';

const reasonOf = (read: PresentedToken) => ('mistake' in read ? read.mistake.reason : undefined);

test.each([
  [`Bearer ${TOKEN}`, undefined],
  ['Basic ZGVtbzp4', 'bearer_scheme_wrong'],
  ['basic ZGVtbzp4', 'bearer_scheme_wrong'],
  [`Token ${TOKEN}`, 'bearer_scheme_wrong'],
  [`${TOKEN} abc`, 'bearer_scheme_wrong'],
  [TOKEN, 'bearer_malformed'],
  [`Bearer:${TOKEN}`, 'bearer_malformed'],
  [`Bearer Bearer ${TOKEN}`, 'bearer_malformed'],
  [`Bearer  ${TOKEN}`, 'bearer_malformed'],
  [`Bearer\t${TOKEN}`, 'bearer_malformed'],
  ['', 'token_missing'],
  ['Bearer', 'token_missing'],
  ['bearer ', 'token_missing'],
  ['Bearer undefined', undefined],
  ['Bearer <ACCESS_TOKEN>', 'token_missing'],
  ['Bearer $TOKEN', 'token_missing'],
  ['Bearer {{token}}', 'token_missing'],
  [`Bearer "${TOKEN}"`, 'token_malformed'],
  [`Bearer '${TOKEN}'`, 'token_malformed'],
  ['Bearer kXhnR0b2v Y6cM1pFz7', 'token_malformed'],
  ['Bearer kXhnR0b2v%2BY6cM1pFz7', 'token_malformed'],
  [`Bearer ${'k'.repeat(513)}`, 'token_malformed'],
  [`Bearer eyJhbGciOiJFUzI1NiJ9.${'k'.repeat(6000)}.c2ln`, 'access_token_is_jwt'],
])('The mistake in Authorization %j is %s.', (value, reason) => {
  expect(reasonOf(readBearerToken(value))).toBe(reason);
});

test.each([
  [TOKEN, undefined],
  ['', 'token_missing'],
  ['null', undefined],
  [`Bearer ${TOKEN}`, 'token_malformed'],
  [`"${TOKEN}"`, 'token_malformed'],
  ['kXhnR0b2vY6c,M1pFz7', 'token_malformed'],
])('The mistake in X-Access-Token %j is %s.', (value, reason) => {
  expect(reasonOf(readXAccessToken(value))).toBe(reason);
});

test('A well-formed text can be a mistake, too, if no store knows it.', () => {
  expect(reasonOf(readQueryToken('undefined'))).toBeUndefined();
  expect(unknownTokenMistake('undefined')?.reason).toBe('token_missing');
  expect(unknownTokenMistake(jwt)?.reason).toBe('access_token_is_jwt');
  expect(unknownTokenMistake(TOKEN)).toBeUndefined();
});

test.each([TOKEN, `${TOKEN} x`, `Bearer ${TOKEN}"`, `Bearer Bearer ${TOKEN}`])(
  'The description of %j never quotes a token.',
  (value) => {
    for (const read of [readBearerToken(value), readXAccessToken(value)]) {
      expect(JSON.stringify('mistake' in read && read.mistake)).not.toContain(TOKEN);
    }
  },
);
