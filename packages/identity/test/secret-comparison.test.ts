import { describe, expect, test } from '@jest/globals';
import { findMatchingSecret } from '../src/secrets/secure-keys.ts';

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
