import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { findMatchingSecret, generateSecureKey, looksMadeUp, secureKey } from './secure-keys.ts';

const problemsOf = (key: string) =>
  secureKey.safeParse(key).error?.issues.map(({ message }) => message.slice(0, 20));

test.each([
  ['must be 16 to 256 pr', 'Zx81Qm2LpR7vT9k'],
  ['must be 16 to 256 pr', 'Zx81Qm2LpR7vT9kß'],
  ['must be 16 to 256 pr', 'k'.repeat(257)],
  ['must be 16 to 256 pr', ''],
  ['must be 16 to 256 pr', 'Zx81Qm2LpR7vT9kY\n'],
  ['must be 16 to 256 pr', 'Zx81Qm2LpR7vT9kY\0'],
  ['is too easy to guess', 'a'.repeat(16)],
  ['is too easy to guess', 'abcdefghabcdefgh'],
  ['is too easy to guess', 'abababababababababab'],
  ['is too easy to guess', '0123456789abcdefghij'],
  ['is too easy to guess', 'ponmlkjihgfedcba'],
  ['is too easy to guess', 'aaaaaaaaaaaaaaaaaabcdefg'],
] as const)('the policy for secure keys finds %s in %j', (problem, key) => {
  expect(problemsOf(key)).toEqual([problem]);
});

test('the policy for secure keys accepts generated keys', () => {
  const keys = Array.from({ length: 10_000 }, () => generateSecureKey());
  expect(keys.filter((key) => problemsOf(key) !== undefined)).toEqual([]);
});

describe('findMatchingSecret', () => {
  const secrets = ['first-secret-key', 'second-secret-key'];

  test.each(secrets)('finds every active secret: %s', (secret) => {
    expect(findMatchingSecret(secret, secrets)).toBe(secrets.indexOf(secret));
  });

  test.each([
    ['a prefix', 'first-secret-ke'],
    ['a suffix', 'irst-secret-key'],
    ['a NUL at the end', 'first-secret-key\0'],
    ['many NULs at the end', `first-secret-key${'\0'.repeat(64)}`],
    ['a space at the end', 'first-secret-key '],
    ['nothing', ''],
    ['another case', 'First-secret-key'],
    ['both in one', 'first-secret-keysecond-secret-key'],
  ])('rejects %s', (_name, presented) => {
    expect(findMatchingSecret(presented, secrets)).toBe(-1);
  });

  test('rejects everything if there is no secret', () => {
    expect(findMatchingSecret('', [])).toBe(-1);
    expect(findMatchingSecret('first-secret-key', [])).toBe(-1);
  });
});

test.each([
  '0'.repeat(64),
  'f'.repeat(64),
  '0123456789abcdef'.repeat(4),
  'deadbeef'.repeat(8),
  Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('hex'),
  'abcdefghijklmnopqrstuvwxyz',
  'ChangeMe-ChangeMe-1234',
  'my-secret-key-for-cookies-000001',
  'replace this example 123456',
  '',
  'aaaaaaaa',
])('%j was made up', (secret) => {
  expect(looksMadeUp(secret)).toBe(true);
});

test('a secret is made up if more than half of its steps repeat', () => {
  expect(looksMadeUp('abcdefgX9kQ')).toBe(false);
  expect(looksMadeUp('abcdefghX9k')).toBe(true);
});

test('random secrets are not treated as made up', () => {
  const secrets = Array.from({ length: 5000 }, () => [
    randomBytes(32).toString('hex'),
    randomBytes(32).toString('base64url'),
    generateSecureKey(),
    generateSecureKey(16),
  ]).flat();
  expect(secrets.filter(looksMadeUp)).toEqual([]);
});
