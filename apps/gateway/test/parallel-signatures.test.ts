// requires: redis-server

import { integrationEngines, type StoreEngine, startStoreEngine } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type BootedGateway, bootGateway, closeUnharmed } from './booted-gateway.ts';
import { type Received, send } from './http-client.ts';

/** Sends through a trusted proxy, which reports the address. */
function sendFrom(
  address: string,
  { port }: BootedGateway,
  path: string,
  { headers, ...sent }: { readonly method?: string; readonly headers: Record<string, string> },
): Promise<Received> {
  return send(port, path, { ...sent, headers: { ...headers, 'X-Forwarded-For': address } });
}

const ADDRESS = '192.0.2.1';
const paths = Array.from({ length: 60 }, (_, number) => `/api/v1/device/d-${number}/_detail`);

describe.each(integrationEngines)('equal signatures of one millisecond on %s', (name) => {
  const trustedProxies = ['127.0.0.1'];
  let engine: StoreEngine;
  let now = Date.now();
  let booted: BootedGateway;
  let strict: BootedGateway;

  beforeAll(async () => {
    engine = await startStoreEngine(name);
    const { storeUrl } = engine;
    booted = await bootGateway({ storeUrl, trustedProxies, now: () => now });
    strict = await bootGateway({ trustedProxies, now: () => now, strict: true });
  });
  afterAll(async () => {
    await closeUnharmed(booted);
    await closeUnharmed(strict);
    await engine.stop();
  });

  function newHeaders(gateway = booted): Record<string, string> {
    now += 5000;
    return gateway.signed();
  }

  async function expectReplayed(reply: Promise<Received>): Promise<void> {
    const { status, json, headers } = await reply;
    expect([status, json.code]).toEqual([401, 'replayed_request']);
    expect(headers['x-sign']).toBeUndefined();
  }

  test('all of 60 parallel reads without parameters succeed', async () => {
    const headers = newHeaders();
    const replies = await Promise.all(
      paths.map((path) => sendFrom(ADDRESS, booted, path, { headers })),
    );
    expect(replies.map(({ status }) => status)).toEqual(paths.map(() => 200));
    expect(replies.every((reply) => reply.headers['x-sign'] !== undefined)).toBe(true);
  });

  test('all addresses of an IPv6 /56 are one group', async () => {
    const headers = newHeaders();
    const [a = '', b = '', c = ''] = paths;
    expect((await sendFrom('2001:db8:0:1::1', booted, a, { headers })).status).toBe(200);
    expect((await sendFrom('2001:db8:0:2::9', booted, b, { headers })).status).toBe(200);
    await expectReplayed(sendFrom('2001:db8:0:100::1', booted, c, { headers }));
  });

  test('a replay from another address group is rejected in the same second', async () => {
    const headers = newHeaders();
    const [first = '', second = ''] = paths;
    expect((await sendFrom(ADDRESS, booted, first, { headers })).status).toBe(200);
    booted.upstream.requests.length = 0;
    await expectReplayed(sendFrom('198.51.100.7', booted, second, { headers }));
    await expectReplayed(sendFrom(`198.51.100.7, junk`, booted, second, { headers }));
    expect(booted.upstream.requests).toEqual([]);
  });

  test('an address that the caller forges to the left of its own has no effect', async () => {
    const headers = newHeaders();
    const [first = '', second = ''] = paths;
    expect((await sendFrom(ADDRESS, booted, first, { headers })).status).toBe(200);
    await expectReplayed(sendFrom(`${ADDRESS}, 198.51.100.7`, booted, second, { headers }));
  });

  test('a replay after one second is rejected', async () => {
    const headers = newHeaders();
    const [first = '', second = ''] = paths;
    expect((await sendFrom(ADDRESS, booted, first, { headers })).status).toBe(200);
    now += 1001;
    await expectReplayed(sendFrom(ADDRESS, booted, second, { headers }));
  });

  test('a further target is served once, whatever the method', async () => {
    const headers = newHeaders();
    const [first = '', second = ''] = paths;
    expect((await sendFrom(ADDRESS, booted, first, { headers })).status).toBe(200);
    expect((await sendFrom(ADDRESS, booted, second, { headers })).status).toBe(200);
    booted.upstream.requests.length = 0;
    await expectReplayed(sendFrom(ADDRESS, booted, second, { headers }));
    await expectReplayed(sendFrom(ADDRESS, booted, `${second}?`, { headers }));
    const head = await sendFrom(ADDRESS, booted, second, { method: 'HEAD', headers });
    expect(head.status).toBe(401);
    expect(booted.upstream.requests).toEqual([]);
  });

  test.each([
    ['DELETE', '/api/v1/device/d-1'],
    ['POST', '/api/v1/device/d-1/_deploy'],
    ['POST', '/device/instance/_query'],
    ['PATCH', '/api/v1/device/d-1'],
  ])('the signature of a read is rejected for %s %s', async (method, path) => {
    const headers = newHeaders();
    expect((await sendFrom(ADDRESS, booted, '/api/device', { headers })).status).toBe(200);
    booted.upstream.requests.length = 0;
    await expectReplayed(sendFrom(ADDRESS, booted, path, { method, headers }));
    expect(booted.upstream.requests).toEqual([]);
  });

  test('the signature of a DELETE or of an empty body is rejected for a read', async () => {
    for (const [method, path] of [
      ['DELETE', '/api/v1/device/d-1'],
      ['POST', '/api/v1/device/d-1/_deploy'],
    ] as const) {
      const headers = newHeaders();
      expect((await sendFrom(ADDRESS, booted, path, { method, headers })).status).toBe(200);
      await expectReplayed(sendFrom(ADDRESS, booted, '/api/device', { headers }));
    }
  });

  test('strict serves one of 60 parallel reads', async () => {
    const headers = newHeaders(strict);
    const replies = await Promise.all(
      paths.map((path) => sendFrom(ADDRESS, strict, path, { headers })),
    );
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ json }) => json.code === 'replayed_request')).toHaveLength(59);
  });
});
