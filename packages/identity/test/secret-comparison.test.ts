import { describe, expect, test } from '@jest/globals';
import {
  findMatchingSecret,
  generateId,
  generateSecureKey,
  secureKeyProblem,
} from '../src/secrets/secure-keys.ts';

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

describe('generated values', () => {
  test('a secure key has 32 letters and digits of equal probability', () => {
    const keys = Array.from({ length: 500 }, () => generateSecureKey());
    expect(new Set(keys).size).toBe(500);
    expect(keys.every((key) => /^[A-Za-z0-9]{32}$/.test(key))).toBe(true);
    const counts = new Map<string, number>();
    for (const letter of keys.join('')) {
      counts.set(letter, (counts.get(letter) ?? 0) + 1);
    }
    expect(counts.size).toBe(62);
    // 16,000 characters, 258 of each expected, with a standard deviation of 16.
    expect(Math.min(...counts.values())).toBeGreaterThan(160);
    expect(Math.max(...counts.values())).toBeLessThan(360);
    expect(keys.map((key) => secureKeyProblem(key)).filter(Boolean)).toEqual([]);
  });

  test('an id has 32 hexadecimal digits', () => {
    expect(generateId()).toMatch(/^[0-9a-f]{32}$/);
    expect(generateId()).not.toBe(generateId());
  });
});
