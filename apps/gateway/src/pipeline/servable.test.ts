import type { IncomingMessage } from 'node:http';
import { ApiError } from '@gatehouse/errors';
import { describe, expect, test } from '@jest/globals';
import { assertNoUpgrade, assertServable } from './stages.ts';

function request(
  headers: Readonly<Record<string, string>> = {},
  others: Partial<IncomingMessage> = {},
): IncomingMessage {
  const base = { method: 'GET', url: '/', httpVersion: '1.1', headers };
  return { ...base, ...others } as IncomingMessage;
}

/** Undefined if the request may be served. */
function refusalOf(message: IncomingMessage, acceptsUpgrade = false): ApiError | undefined {
  try {
    const request = { message, method: message.method ?? '' };
    if (!acceptsUpgrade) {
      assertNoUpgrade(request);
    }
    assertServable(request);
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError);
    return error as ApiError;
  }
}

const reasonOf = (message: IncomingMessage, acceptsUpgrade?: boolean) =>
  refusalOf(message, acceptsUpgrade)?.reason;

describe('a request that the gateway may serve', () => {
  test('has a known method', () => {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      expect(reasonOf(request({}, { method }))).toBeUndefined();
    }
    for (const method of ['TRACE', 'CONNECT', 'get']) {
      const refusal = refusalOf(request({}, { method }));
      expect(refusal?.reason).toBe('method_not_allowed');
      expect(refusal?.headers).toEqual({ Allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' });
    }
  });

  test('has a path', () => {
    expect(reasonOf(request({}, { method: 'OPTIONS', url: '*' }))).toBe('method_not_allowed');
  });

  test('asks for no upgrade but h2c, except where the route accepts one', () => {
    for (const upgrade of ['websocket', 'h2', 'h2c, websocket']) {
      expect(reasonOf(request({ upgrade }))).toBe('upgrade_not_accepted');
      expect(reasonOf(request({ upgrade }), true)).toBeUndefined();
    }
    expect(reasonOf(request({ upgrade: ' H2C' }))).toBeUndefined();
  });

  test('has no ambiguous framing, and otherwise the connection closes', () => {
    const refusal = refusalOf(request({ 'transfer-encoding': 'gzip, chunked' }));
    expect(refusal?.reason).toBe('framing_ambiguous');
    expect(refusal?.headers).toEqual({ Connection: 'close' });
    expect(refusal?.result).toEqual([
      { property: 'Transfer-Encoding', message: 'must be chunked' },
    ]);
    expect(reasonOf(request({ 'transfer-encoding': 'chunked' }))).toBeUndefined();
  });

  test.each<[IncomingMessage, string | undefined]>([
    [request({ 'content-encoding': 'gzip' }), 'unsupported_media_type'],
    [request({ host: 'api.example:8443' }), undefined],
    [request({ host: 'user@api.example' }), 'http_invalid'],
    [request({}, { httpVersion: '1.0' }), undefined],
    [request({}, { httpVersion: '1.2' }), 'http_invalid'],
  ])('%j has the reason %s', (message, reason) => {
    expect(reasonOf(message)).toBe(reason);
  });
});
