import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { digest, findSigningKey, hmac } from '../test/digests.ts';
import { findMatchingKey, isTimely, parseTimestamp, sign } from './signature.ts';
import { isNonce, type RequestToSign, replyLines, requestLines } from './signed-lines.ts';
import { AmbiguousTextError } from './version-1-text.ts';

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
    ...[signature.slice(1), `${signature}0`, `0x${signature}`, ` ${signature}`],
    ...[`${signature}\n`, signature.slice(0, 32)],
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

describe('parseTimestamp', () => {
  test('reads 13 digits as epoch milliseconds', () => {
    expect(parseTimestamp('1574993804802')).toBe(1_574_993_804_802);
  });

  test.each(['01574993804802', '574993804802'])(
    'rejects %p, whose first digit could belong to the signed text',
    (text) => {
      expect(parseTimestamp(text)).toBeUndefined();
    },
  );

  test.each([
    '',
    'abc',
    '-1',
    '1.5e12',
    '+1574993804802',
    '0x16eb9e5b5c2',
    '1574993804',
    '1574993804802000',
    '１５７４９９３８０４８０２',
    'Infinity',
    ' 1574993804802',
    '1574993804802 ',
    '1574993804802\n',
    '0574993804802',
  ])('rejects %p', (text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });
});

describe('isTimely', () => {
  const now = 1_574_993_804_802;

  test('accepts 299.9 s in either direction and rejects 300.1 s', () => {
    expect(isTimely(now - 299_900, now)).toBe(true);
    expect(isTimely(now + 299_900, now)).toBe(true);
    expect(isTimely(now - 300_100, now)).toBe(false);
    expect(isTimely(now + 300_100, now)).toBe(false);
  });

  test('accepts exactly the tolerance, but not a millisecond more', () => {
    expect([999, 1000, 1001].map((offset) => isTimely(now + offset, now, 1000))).toEqual([
      true,
      true,
      false,
    ]);
  });
});

const request: RequestToSign = {
  method: 'POST',
  path: '/device-instance',
  query: 'a=1',
  contentType: 'application/json',
  body: '{"id":"1"}',
  clientId: 'machine',
  timestamp: '1574993804802',
  nonce: 'abcdefghijklmnop',
};
const lines = requestLines(request, digest);
const signatureV2 = hmac('testSecure', lines);

describe('requestLines', () => {
  test('returns nine lines, one of which is the hash of the body', () => {
    expect(lines).toBe(
      [
        'GATEHOUSE-V2',
        'POST',
        '/device-instance',
        'a=1',
        'application/json',
        createHash('sha256').update('{"id":"1"}').digest('hex'),
        'machine',
        '1574993804802',
        'abcdefghijklmnop',
      ].join('\n'),
    );
  });

  test.each(['method', 'path', 'query', 'contentType', 'clientId', 'timestamp', 'nonce'] as const)(
    'rejects a line feed in %s, which would look like two lines',
    (part) => {
      expect(() => requestLines({ ...request, [part]: 'a\nb' }, digest)).toThrow(
        AmbiguousTextError,
      );
    },
  );

  test('returns another text if a character moves to another line', () => {
    const moved = [
      { path: '/device-instanc', query: 'ea=1' },
      { query: 'a=', contentType: '1application/json' },
      { clientId: 'machine1', timestamp: '574993804802' },
      { timestamp: '1574993804802a', nonce: 'bcdefghijklmnop' },
    ];
    for (const change of moved) {
      expect(requestLines({ ...request, ...change }, digest)).not.toBe(lines);
    }
  });
});

describe('replyLines', () => {
  const reply = { status: 200, nonce: request.nonce, body: '{}', timestamp: '1574993804803' };

  test('returns another text for another status, request, body or time', () => {
    const texts = [
      reply,
      { ...reply, status: 201 },
      { ...reply, nonce: 'abcdefghijklmnoq' },
      { ...reply, body: '{ }' },
      { ...reply, timestamp: '1574993804804' },
    ].map((each) => replyLines(each, digest));
    expect(new Set(texts).size).toBe(texts.length);
  });

  test('never returns the text of a request', () => {
    expect(replyLines(reply, digest).split('\n', 1)).not.toEqual(lines.split('\n', 1));
  });
});

describe('findMatchingKey', () => {
  test.each([
    '',
    'null',
    signatureV2.slice(1),
    `${signatureV2}0`,
    ` ${signatureV2}`,
    'g'.repeat(64),
  ])('rejects %p without an exception', (presented) => {
    expect(findMatchingKey(presented, ['testSecure'], (key) => hmac(key, lines))).toBeUndefined();
  });

  test('rejects a version 1 digest of the same text, and version 1 rejects an HMAC', () => {
    const other = { signedText: lines, timestamp: request.timestamp } as const;
    for (const algorithm of ['MD5', 'SHA-256'] as const) {
      const own = sign({ ...other, algorithm }, 'testSecure', digest);
      expect(findMatchingKey(own, ['testSecure'], (key) => hmac(key, lines))).toBeUndefined();
      expect(findSigningKey({ ...other, algorithm }, signatureV2, ['testSecure'])).toBeUndefined();
    }
  });
});

describe('isNonce', () => {
  test.each(['a'.repeat(16), 'A-_0'.repeat(16)])('accepts %p', (text) => {
    expect(isNonce(text)).toBe(true);
  });

  test.each([
    '',
    'a'.repeat(15),
    'a'.repeat(65),
    'abcdefghijklmno=',
    'abcdefghijklmnop\n',
    'é'.repeat(16),
  ])('rejects %p', (text) => {
    expect(isNonce(text)).toBe(false);
  });
});
