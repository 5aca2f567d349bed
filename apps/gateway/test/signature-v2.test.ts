// requires: redis-server

import { type RedisServer, startRedisServer } from '@gatehouse/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type BootedGateway, bootGateway, closeUnharmed } from './booted-gateway.ts';
import { type Received, type Sent, send } from './http-client.ts';
import type { SigningV2 } from './test-credentials.ts';

let redis: RedisServer;

beforeAll(async () => {
  redis = await startRedisServer();
});
afterAll(() => redis.stop());

describe.each(['sqlite', 'redis'])('a request with a signature of version 2 on %s', (engine) => {
  let booted: BootedGateway;
  let now = Date.now();

  beforeAll(async () => {
    booted = await bootGateway({
      now: () => now,
      ...(engine === 'redis' ? { storeUrl: redis.url } : {}),
    });
    await booted.saveClient(
      { clientId: 'modern', signatureAlgorithm: 'HMAC-SHA-256' },
      booted.secureKey,
    );
  });
  afterAll(() => closeUnharmed(booted));
  beforeEach(() => {
    now += 1000;
    booted.upstream.requests.length = 0;
  });

  /** Signs a request and sends it, or a changed one instead. */
  function call(signing: SigningV2, change: Partial<SigningV2 & Sent> = {}): Promise<Received> {
    return sendSigned(booted.signedV2(signing), { ...signing, ...change });
  }

  function sendSigned(headers: Record<string, string>, sent: SigningV2 & Sent): Promise<Received> {
    const { method = 'GET', path = '/api/device', query = '', body } = sent;
    return send(booted.port, query === '' ? path : `${path}?${query}`, {
      method,
      headers: { ...headers, ...(sent.headers as Record<string, string> | undefined) },
      ...(body === undefined ? {} : { body }),
    });
  }

  function expectRefused(reply: Received, code: string, status = 401): void {
    expect([reply.status, reply.json.code]).toEqual([status, code]);
    expect(reply.headers).not.toHaveProperty('x-sign');
    expect(reply.headers).not.toHaveProperty('x-sign-v2');
    expect(booted.upstream.requests).toEqual([]);
  }

  const update = {
    method: 'PATCH',
    path: '/api/v1/device/d1',
    query: 'trace=1',
    contentType: 'application/json',
    body: '{"name":"one"}',
  } as const;

  test.each<[string, Partial<SigningV2 & Sent>]>([
    ['another path', { path: '/api/v1/device/d2' }],
    ['the same path in another spelling', { path: '/api/v1/device/%641' }],
    ['another method', { method: 'DELETE', body: '' }],
    ['another method with the same body', { method: 'POST', path: '/api/v1/device/d1/log' }],
    ['another query', { query: 'trace=2' }],
    ['the query in another order or spelling', { query: 'trace=%31' }],
    ['no query', { query: '' }],
    ['another body', { body: '{"name":"two"}' }],
    ['no body', { body: '' }],
    ['another content type', { headers: { 'Content-Type': 'text/plain' } }],
    ['another client with the same key', { headers: { 'X-Client-Id': 'modern' } }],
    ['another nonce', { headers: { 'X-Nonce': 'abcdefghijklmnop' } }],
    ['another time', { headers: { 'X-Timestamp': String(now) } }],
  ])('that an attacker captured and changed is rejected: %s', async (_name, change) => {
    const headers = booted.signedV2(update);
    expectRefused(await sendSigned(headers, { ...update, ...change }), 'invalid_signature');

    // The attempt did not use up the signature: the real request is accepted once.
    const { status } = await sendSigned(headers, update);
    expect([status, booted.upstream.requests.length]).toEqual([200, 1]);
  });

  test.each(['GET', 'HEAD', 'DELETE', 'PATCH'])(
    'is rejected if it is repeated as %s, with hex digits in any case',
    async (method) => {
      const signing = { method, path: '/api/v1/device/d1' };
      const headers = booted.signedV2(signing);
      expect((await sendSigned(headers, signing)).status).toBe(200);
      booted.upstream.requests.length = 0;

      const upper = { ...headers, 'X-Sign-V2': headers['X-Sign-V2']?.toUpperCase() ?? '' };
      for (const again of [headers, upper]) {
        const reply = await sendSigned(again, signing);
        expect(reply.status).toBe(401);
        expect(method === 'HEAD' ? 'replayed_request' : reply.json.code).toBe('replayed_request');
        expect(booted.upstream.requests).toEqual([]);
      }
    },
  );

  test('is rejected for the nonce of an earlier request until that nonce expires', async () => {
    const nonce = 'only-once-0123456789';
    expect((await call({ nonce })).status).toBe(200);
    booted.upstream.requests.length = 0;
    expectRefused(await call({ nonce, query: 'a=1' }), 'replayed_request');
    expect((await call({ nonce: nonce.toUpperCase() })).status).toBe(200);
    expect((await call({ nonce, clientId: 'modern' })).status).toBe(200);
  });

  test('is accepted once if it arrives fifty times concurrently', async () => {
    const headers = booted.signedV2();
    const replies = await Promise.all(Array.from({ length: 50 }, () => sendSigned(headers, {})));

    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ json }) => json.code === 'replayed_request')).toHaveLength(49);
    expect(booted.upstream.requests).toHaveLength(1);
  });

  test('is the only signature that a client with HMAC-SHA-256 may send', async () => {
    const own = { query: 'a=1', clientId: 'modern' };
    const digest = await send(booted.port, '/api/device?a=1', { headers: booted.signed(own) });
    expectRefused(digest, 'invalid_signature');
    const unknown = await send(booted.port, '/api/device?a=1', {
      headers: booted.signed({ ...own, clientId: 'nobody' }),
    });
    // Only a caller that holds the key learns that the client exists.
    expect(digest.json.result.cause).toBe('version_1_not_allowed');
    expect(unknown.json.result).not.toHaveProperty('cause');
    const wrong = await send(booted.port, '/api/device?a=1', {
      headers: booted.signed({ ...own, secureKey: 'another key' }),
    });
    expect(wrong.json).toEqual(unknown.json);
    expect((await call(own)).status).toBe(200);
  });

  test('is never confused with version 1', async () => {
    const v2 = booted.signedV2();
    const v1 = booted.signed();
    const { 'X-Sign-V2': hmac = '', ...others } = v2;
    expectRefused(await sendSigned({ ...others, 'X-Sign': hmac }, {}), 'invalid_signature');
    const { 'X-Sign': digest = '' } = v1;
    expectRefused(await sendSigned({ ...v2, 'X-Sign-V2': digest }, {}), 'invalid_signature');
  });

  test('gets a valid token once', async () => {
    const signing = {
      method: 'POST',
      path: '/api/v1/token',
      body: '{"expires":600}',
      contentType: 'application/json',
      clientId: 'modern',
    };
    const headers = booted.signedV2(signing);
    const reply = await sendSigned(headers, signing);
    booted.keepSecret(reply.json.result);
    expect([reply.status, reply.json.expires]).toEqual([200, 600]);
    expect(reply.headers).toHaveProperty('x-sign-v2');
    const token = { headers: { 'X-Access-Token': reply.json.result } };
    expect((await send(booted.port, '/api/device', token)).status).toBe(200);
    booted.upstream.requests.length = 0;
    expectRefused(await sendSigned(headers, signing), 'replayed_request');
  });
});
