import { describe, expect, test } from '@jest/globals';
import { digest, findSigningKey } from '../test/digests.ts';
import { sign } from './signature.ts';

const input = {
  algorithm: 'SHA-256',
  signedText: 'pageIndex=0&pageSize=20',
  timestamp: '1574993804802',
} as const;
const signature = sign(input, 'testSecure', digest);

describe('a signature of version 1', () => {
  test('accepts hexadecimal digits of either case', () => {
    const mixed = signature.replace(/[a-f]/, (letter) => letter.toUpperCase());

    expect(findSigningKey(input, signature.toUpperCase(), ['testSecure'])).toBeDefined();
    expect(findSigningKey(input, mixed, ['testSecure'])).toBeDefined();
  });

  test('tries every active key', () => {
    expect(findSigningKey(input, signature, ['newer', 'testSecure'])).toBe('testSecure');
    expect(findSigningKey(input, signature, ['newer', 'other'])).toBeUndefined();
    expect(findSigningKey(input, signature, [])).toBeUndefined();
  });

  test.each([
    '',
    'null',
    signature.slice(1),
    `${signature}0`,
    `0x${signature}`,
    ` ${signature}`,
    `${signature}\n`,
    signature.slice(0, 32),
    Buffer.from(signature, 'hex').toString('base64'),
    signature.replace(/[0-9]/, '１'),
    'g'.repeat(64),
    '\uD800'.repeat(64),
  ])('rejects %p without an exception', (presented) => {
    expect(findSigningKey(input, presented, ['testSecure'])).toBeUndefined();
  });

  test('rejects every change of one byte of the text', () => {
    const text = Buffer.from('{\n  "id": "1"\n}');
    const body = { ...input, signedText: text };
    const signed = sign(body, 'testSecure', digest);
    for (let index = 0; index < text.length; index += 1) {
      const changed = Buffer.from(text);
      changed[index] = (changed[index] ?? 0) ^ 1;
      expect(
        findSigningKey({ ...body, signedText: changed }, signed, ['testSecure']),
      ).toBeUndefined();
    }
  });

  test('rejects an MD5 signature for a client that uses SHA-256', () => {
    const md5 = sign({ ...input, algorithm: 'MD5' }, 'testSecure', digest);

    expect(findSigningKey(input, md5, ['testSecure'])).toBeUndefined();
  });
});
