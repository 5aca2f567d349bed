import { expect, test } from '@jest/globals';
import { generateSecureKey, secureKeyProblem } from '../secrets/secure-keys.ts';

test.each([
  ['format', 'Zx81Qm2LpR7vT9k'],
  ['format', 'Zx81Qm2LpR7vT9kß'],
  ['format', 'k'.repeat(257)],
  ['weak', 'a'.repeat(16)],
  ['weak', 'abcdefghabcdefgh'],
  ['weak', 'abababababababababab'],
  ['weak', '0123456789abcdefghij'],
  ['weak', 'ponmlkjihgfedcba'],
  ['weak', 'aaaaaaaaaaaaaaaaaabcdefg'],
] as const)('the policy for secure keys finds %s in %j', (problem, secureKey) => {
  expect(secureKeyProblem(secureKey)).toBe(problem);
});

test('the policy for secure keys accepts generated keys', () => {
  for (let i = 0; i < 10_000; i += 1) {
    expect(secureKeyProblem(generateSecureKey())).toBeUndefined();
  }
});
