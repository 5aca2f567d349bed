import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { createCsrfTokens } from './page.ts';

test('the token of a form is valid only for its owner, unchanged, and with the key of the installation', () => {
  const tokens = createCsrfTokens(randomBytes(32));
  const token = tokens.issue('interaction');
  expect(tokens.verify('interaction', token)).toBe(true);
  expect(tokens.verify('another', token)).toBe(false);
  const elsewhere = createCsrfTokens(randomBytes(32)).issue('interaction');
  for (const presented of ['', token.slice(1), `${token}AAAA`, [token], undefined, elsewhere]) {
    expect(tokens.verify('interaction', presented)).toBe(false);
  }
});
