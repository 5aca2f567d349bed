import { createHmac } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { createCookieSignatures } from './browser-state.ts';

const DATA = 'session=V1StGXR8_Z5jdHi6B-myT';

/** As Keygrip 1.1 computes it, which signed the cookies of earlier releases. */
const byKeygrip = (key: string, data = DATA) =>
  createHmac('sha1', key)
    .update(data)
    .digest('base64')
    .replace(/\/|\+|=/g, (character) => ({ '/': '_', '+': '-' })[character] ?? '');

describe('the signature of a cookie', () => {
  const signatures = createCookieSignatures(['current', 'former']);

  test('equals that of Keygrip, so that cookies of earlier releases stay valid', () => {
    const data = Array.from({ length: 50 }, (_, index) => `${DATA}${index}`);
    const signed = data.map((each) => signatures.sign(each));
    expect(signed).toEqual(data.map((each) => byKeygrip('current', each)));
    // Both characters that base64url replaces.
    expect(signed.join('')).toMatch(/-.*_|_.*-/);
  });

  test('names the key, so that the library signs again with the first one', () => {
    expect(signatures.index(DATA, byKeygrip('current'))).toBe(0);
    expect(signatures.index(DATA, byKeygrip('former'))).toBe(1);
  });

  test.each([
    ['of another key', byKeygrip('foreign')],
    ['of another value', signatures.sign(`${DATA}0`)],
    ['with another end', byKeygrip('current').replace(/.$/, 'A')],
    ['without its end', byKeygrip('current').slice(0, -1)],
    ['that is empty', ''],
    ['with as many characters but more bytes', 'é'.repeat(27)],
  ])('is rejected if it is one %s', (_title, presented) => {
    expect(signatures.index(DATA, presented)).toBe(-1);
    expect(signatures.verify(DATA, presented)).toBe(false);
  });
});
