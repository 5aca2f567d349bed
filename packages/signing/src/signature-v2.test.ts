import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { digest, findSigningKey, hmac } from '../test/digests.ts';
import { findMatchingKey, sign } from './signature.ts';
import { isNonce, type RequestToSign, replyLines, requestLines } from './signed-lines.ts';
import { AmbiguousTextError } from './version-1-text.ts';

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
const signature = hmac('testSecure', lines);

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
  test.each(['', 'null', signature.slice(1), `${signature}0`, ` ${signature}`, 'g'.repeat(64)])(
    'rejects %p without an exception',
    (presented) => {
      expect(findMatchingKey(presented, ['testSecure'], (key) => hmac(key, lines))).toBeUndefined();
    },
  );

  test('rejects a version 1 digest of the same text, and version 1 rejects an HMAC', () => {
    const input = { signedText: lines, timestamp: request.timestamp } as const;
    for (const algorithm of ['MD5', 'SHA-256'] as const) {
      const own = sign({ ...input, algorithm }, 'testSecure', digest);
      expect(findMatchingKey(own, ['testSecure'], (key) => hmac(key, lines))).toBeUndefined();
      expect(findSigningKey({ ...input, algorithm }, signature, ['testSecure'])).toBeUndefined();
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
