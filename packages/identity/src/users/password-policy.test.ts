import { describe, expect, test } from '@jest/globals';
import { generateSecureKey } from '../secrets/secure-keys.ts';
import { passwordProblem, passwordRules } from '../users/password-policy.ts';

const problem = (password: string, username = 'alice') => passwordProblem(password, { username });

describe('the password policy', () => {
  test.each([
    ['short', 'p4ssw0r'],
    ['short', '😀😀😀😀😀😀😀'],
    ['long', 'é'.repeat(513)],
    ['username', 'alice-cooper', 'Alice-Cooper'],
    ['username', 'ALICE2026', 'alice'],
    ['username', '!alice!!!', 'Ａlice'],
    ['product', 'Gatehouse'],
    ['product', 'gatehouse123!'],
    ['common', 'password'],
    ['common', 'PassWord'],
    ['common', 'Trustno1'],
    ['pattern', 'aaaaaaaaaaaa'],
    ['pattern', 'xyzxyzxyzxyz'],
    ['pattern', '23456789abcdef'],
    ['pattern', '９８７６５４３２１０'],
  ] as const)('finds %s in %j', (expected, password, username = 'alice') => {
    expect(problem(password, username)).toBe(expected);
    expect(passwordRules[expected].length).toBeGreaterThan(10);
  });

  test.each([
    ['correct horse battery'],
    ['a password of alice'],
    ['gatehouse of my aunt'],
    ['8 chars!'],
    ['密码密碼口令暗号'],
    [' spaces count '],
    [generateSecureKey(20)],
  ])('takes %j', (password) => {
    expect(problem(password)).toBeUndefined();
  });
});
