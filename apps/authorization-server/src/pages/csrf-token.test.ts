import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { createCsrfTokens } from './page.ts';

describe('the token of a form', () => {
  const tokens = createCsrfTokens(randomBytes(32));

  test('is valid only for its owner, and only unchanged', () => {
    const token = tokens.issue('interaction');
    expect(tokens.verify('interaction', token)).toBe(true);
    for (const presented of ['', token.slice(1), `${token}AAAA`, [token], undefined]) {
      expect(tokens.verify('interaction', presented)).toBe(false);
    }
    expect(tokens.verify('another', token)).toBe(false);
  });

  test('cannot be computed from an address without the key of the installation', () => {
    const elsewhere = createCsrfTokens(randomBytes(32)).issue('interaction');
    expect(tokens.verify('interaction', elsewhere)).toBe(false);
  });
});
