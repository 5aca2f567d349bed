// requires: redis-server
import { integrationEngines, startStoreEngine, until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { deviceRoutes } from '../src/routes/route.ts';
import type { BootedGateway, BootOptions } from './booted-gateway.ts';
import type { Received, Sent } from './http-client.ts';
import { openGateway } from './suite-gateway.ts';

const path = '/api/device';
const windowSeconds = 60;
const ofClient = (requests: number, more: BootOptions = {}) =>
  openGateway({ ...more, clientRateLimit: { requests, windowSeconds } });
const ofAddress = (requests: number, more: BootOptions = {}) =>
  openGateway({ ...more, addressRateLimit: { requests, windowSeconds } });
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

/** Sends requests one after the other. */
async function inOrder(
  gateway: BootedGateway,
  all: readonly Record<string, string>[],
  options: Omit<Sent, 'headers'> = {},
): Promise<readonly Received[]> {
  const replies: Received[] = [];
  for (const headers of all) {
    replies.push(await gateway.send(path, { ...options, headers }));
  }
  return replies;
}
const statusesOf = (replies: readonly Received[]) => replies.map(({ status }) => status);
const times = (count: number, headers: Record<string, string>) => Array(count).fill(headers);
const unknownTokens = (count: number) =>
  Array.from({ length: count }, (_, index) => bearer(`unknown-${index}`));

describe('the limit of a client', () => {
  test('answers 429 with Retry-After, JSON and no-store, and reports the remaining quota', async () => {
    const gateway = await ofClient(3);
    const replies = await inOrder(gateway, times(5, await gateway.bearer()));

    expect(statusesOf(replies)).toEqual([200, 200, 200, 429, 429]);
    expect(replies[0]?.headers['ratelimit-policy']).toBe('"client";q=3;w=60');
    expect(replies.map(({ headers }) => headers.ratelimit)).toEqual(
      [2, 1, 0, 0, 0].map((left) => expect.stringMatching(`^"client";r=${left};t=[1-6]?[0-9]$`)),
    );
    const refused = replies[3];
    expect(refused?.json).toMatchObject({ status: 429, code: 'too_many_requests' });
    expect(Number(refused?.headers['retry-after'])).toBeGreaterThan(0);
    expect(refused?.headers['cache-control']).toBe('no-store');
    expect(gateway.upstream.requests).toHaveLength(3);
  });

  test('starts again with the next window', async () => {
    const gateway = await openGateway({ clientRateLimit: { requests: 2, windowSeconds: 1 } });
    const headers = await gateway.bearer();
    const ask = async () => (await gateway.send(path, { headers })).status;
    await until(async () => (await ask()) === 429);
    await until(async () => (await ask()) === 200);
  });

  test('is shared by all its kinds of credentials and not by other clients', async () => {
    const gateway = await ofClient(2);
    await gateway.saveClient({ clientId: 'other' });
    const replies = await inOrder(gateway, [
      gateway.signed(),
      await gateway.bearer(),
      gateway.signed(),
      await gateway.bearer({ clientId: 'other' }),
    ]);
    expect(statusesOf(replies)).toEqual([200, 200, 429, 200]);
    // A verified caller gets a signature with every status.
    expect(replies[2]?.headers).toHaveProperty('x-sign');
  });

  test('of a route counts every spelling of its path', async () => {
    const rateLimit = { requests: 2, windowSeconds };
    const routes = deviceRoutes.map((route) =>
      route.operation === 'device.detail' ? { ...route, rateLimit } : route,
    );
    const gateway = await openGateway({ routes });
    const headers = await gateway.bearer();
    const replies: Received[] = [];
    for (const detail of ['/a/_detail', '/b/_detail', '/%63/_detail', '/a/_detail?x=1']) {
      replies.push(await gateway.send(`/api/v1/device${detail}`, { headers }));
    }
    expect(statusesOf(replies)).toEqual([200, 200, 429, 429]);
    expect(replies[0]?.headers['ratelimit-policy']).toMatch(
      /^"client";q=\d+;w=60, "device.detail";q=2;w=60$/,
    );
    expect((await gateway.send(path, { headers })).status).toBe(200);
  });
});

describe('the limit of an address', () => {
  test('counts unverified requests', async () => {
    const replies = await inOrder(await ofAddress(3), unknownTokens(5));
    expect(statusesOf(replies)).toEqual([401, 401, 401, 429, 429]);
    expect(replies[0]?.headers.ratelimit).toMatch(/^"address";r=2;t=/);
    expect(replies[4]?.headers).toMatchObject({ 'retry-after': expect.any(String) });
  });

  test('counts the preflights that are answered', async () => {
    const gateway = await ofAddress(3);
    const Origin = 'https://app.example';
    await gateway.saveClient({ clientId: 'browser-app', corsOrigins: [Origin] });
    const headers = { Origin, 'Access-Control-Request-Method': 'GET' };
    const replies = await inOrder(gateway, times(4, headers), { method: 'OPTIONS' });
    expect(statusesOf(replies)).toEqual([204, 204, 204, 429]);
  });

  test('stops bad credentials without a store read, at ten times the limit', async () => {
    let reads = 0;
    const gateway = await ofAddress(2, {
      around: (run, operation) => {
        reads += operation === 'get' ? 1 : 0;
        return run();
      },
    });
    const before = reads;
    const replies = await inOrder(gateway, unknownTokens(30));
    expect(statusesOf(replies)).toEqual([401, 401, ...Array(28).fill(429)]);
    // One read verifies a token, two explain why it is rejected (decision 19).
    expect(reads - before).toBe(20 * 3);
    // Now the address is blocked for all requests.
    const headers = await gateway.bearer();
    expect((await gateway.send(path, { headers })).status).toBe(429);
  });

  test('does not block verified clients that share an address with an attacker', async () => {
    const gateway = await ofAddress(2);
    const attack = [{}, {}, {}, bearer('x')];
    expect(statusesOf(await inOrder(gateway, attack))).toEqual([401, 401, 429, 429]);
    const good = [await gateway.bearer(), gateway.signed()];
    const replies = await inOrder(gateway, [...good, ...good, {}]);
    expect(statusesOf(replies)).toEqual([200, 200, 200, 200, 429]);
    expect(replies[0]?.headers['ratelimit-policy']).toBe('"client";q=1000000;w=60');
  });

  test('does not count malformed requests as bad credentials', async () => {
    const gateway = await ofAddress(2);
    const replies = await inOrder(gateway, times(30, { 'Content-Encoding': 'gzip' }));
    expect(statusesOf(replies)).toEqual([415, 415, ...Array(28).fill(429)]);
    const headers = await gateway.bearer();
    expect((await gateway.send(path, { headers })).status).toBe(200);
  });

  test('is not used up and not reset by a verified request', async () => {
    const gateway = await ofAddress(2);
    const good = await gateway.bearer();
    const all = [bearer('x'), good, good, good, bearer('y'), bearer('z')];
    expect(statusesOf(await inOrder(gateway, all))).toEqual([401, 200, 200, 200, 401, 429]);
  });

  test.each(['X-Forwarded-For', 'X-Real-IP', 'Forwarded'])(
    'cannot be evaded with %s by a peer that is not a trusted proxy',
    async (name) => {
      const all = [1, 2, 3].map((last) => ({ ...bearer('x'), [name]: `10.0.0.${last}` }));
      expect(statusesOf(await inOrder(await ofAddress(2), all))).toEqual([401, 401, 429]);
    },
  );

  test('is shared by an IPv6 /56 and by mapped and plain IPv4 addresses', async () => {
    const gateway = await ofAddress(1, { trustedProxies: ['127.0.0.1'] });
    const addresses = [
      ...['2001:db8:1:2200::1', '2001:db8:1:22ff:ffff::9', '2001:db8:1:2300::1'],
      ...['192.0.2.7', '::ffff:192.0.2.7'],
    ];
    const all = addresses.map((address) => ({ ...bearer('x'), 'X-Forwarded-For': address }));
    expect(statusesOf(await inOrder(gateway, all))).toEqual([401, 429, 401, 401, 429]);
  });

  test('tolerates any X-Forwarded-For', async () => {
    const gateway = await openGateway({ trustedProxies: ['127.0.0.1'] });
    const good = await gateway.bearer();
    const texts = ['garbage', '[::', '::ffff:999.1.1.1', ',,,', '1.2.3.4, garbage'];
    const all = texts.map((text) => ({ ...good, 'X-Forwarded-For': text }));
    expect(statusesOf(await inOrder(gateway, all))).toEqual(texts.map(() => 200));
  });
});

describe.each(integrationEngines)('on %s', (name) => {
  test('a limit is shared by two gateways and holds for 200 concurrent requests', async () => {
    const engine = await startStoreEngine(name);
    const shared = { storeUrl: engine.storeUrl, masterKey: Buffer.alloc(32, 7) };
    const gateways = [await ofClient(50, shared), await ofClient(50, shared)];
    const headers = (await gateways[0]?.bearer()) ?? {};
    const calls = Array.from({ length: 200 }, (_, i) => gateways[i % 2]?.send(path, { headers }));
    const statuses = (await Promise.all(calls)).map((reply) => reply?.status);
    const served = statuses.filter((status) => status === 200).length;
    expect(statuses.filter((status) => status === 429)).toHaveLength(200 - served);
    // Never more. Less only by the lease that one gateway holds and the other cannot use.
    expect(served).toBeLessThanOrEqual(50);
    expect(served).toBeGreaterThanOrEqual(48);
    await engine.stop();
  });

  test('the budget of signatures is limited by the free space of the store, for a client and its organization', async () => {
    const engine = await startStoreEngine(name);
    let free = 4 * 512;
    const gateway = await openGateway({
      storeUrl: engine.storeUrl,
      around: (run, operation) =>
        operation === 'ping'
          ? Promise.resolve({ usedBytes: 0, maximumBytes: Math.ceil((free * 16) / 15) })
          : run(),
    });
    for (const clientId of ['second', 'third']) {
      await gateway.saveClient({ clientId }, gateway.secureKey);
    }
    await gateway.saveClient({ clientId: 'foreign', orgId: 'org-2' }, gateway.secureKey);
    const signed = (clientId: string, count: number) =>
      Array.from({ length: count }, () => gateway.signedV2({ clientId }));
    const repeat = async (clientId: string, count: number) =>
      statusesOf(await inOrder(gateway, signed(clientId, count)));

    const [first = {}] = signed('demo', 1);
    const replays = await inOrder(gateway, times(11, first));
    expect(statusesOf(replays)).toEqual([200, ...Array(10).fill(401)]);
    expect(await repeat('demo', 5)).toEqual([200, 200, 200, 429, 429]);
    const [refused] = await inOrder(gateway, signed('demo', 1));
    expect(refused?.json).toMatchObject({
      code: 'too_many_requests',
      message: expect.stringContaining('signatures'),
    });
    expect(Number(refused?.headers['retry-after'])).toBeGreaterThan(600);
    // The organization may store twice as much. One of its permits went to a rejected request.
    expect(await repeat('second', 4)).toEqual([200, 200, 200, 200]);
    expect(await repeat('third', 1)).toEqual([429]);
    expect(await repeat('foreign', 4)).toEqual([200, 200, 200, 200]);
    // An access token stores nothing.
    expect(statusesOf(await inOrder(gateway, [await gateway.bearer()]))).toEqual([200]);

    // When space is freed, the budget grows within the window.
    free = 1_000_000;
    await until(async () => (await repeat('demo', 1))[0] === 200);
    await engine.stop();
  });
});
