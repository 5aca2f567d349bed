import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { looksMadeUp } from './guessable.ts';
import { generateSecureKey } from './secure-keys.ts';

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
