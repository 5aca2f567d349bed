import { expect, test } from '@jest/globals';
import { generateSecureKey, secureKey } from '../secrets/secure-keys.ts';

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
  for (let i = 0; i < 10_000; i += 1) {
    expect(problemsOf(generateSecureKey())).toBeUndefined();
  }
});
