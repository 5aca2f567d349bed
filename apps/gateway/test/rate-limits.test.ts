// requires: redis-server
import {
  integrationEngines,
  type StoreEngine,
  startRedisServer,
  startStoreEngine,
  until,
} from '@gatehouse/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { deviceRoutes } from '../src/routes/route.ts';
import { type BootedGateway, type BootOptions, bootGateway } from './booted-gateway.ts';
import { type Received, send } from './http-client.ts';

const booted: BootedGateway[] = [];

async function boot(options: BootOptions): Promise<BootedGateway> {
  const gateway = await bootGateway(options);
  booted.push(gateway);
  return gateway;
}
afterEach(async () => {
  await Promise.all(booted.splice(0).map((gateway) => gateway.close()));
});

function statuses(replies: readonly Received[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of replies) {
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

function bearer(token: string, headers: Record<string, string> = {}) {
  return { headers: { Authorization: `Bearer ${token}`, ...headers } };
}

describe('the limit of a client', () => {
  test('answers 429 with Retry-After, JSON and no-store, and reports the remaining quota', async () => {
    const gateway = await boot({ clientRateLimit: { requests: 3, windowSeconds: 60 } });
    const token = await gateway.issueToken();
    const replies: Received[] = [];
    for (let count = 0; count < 5; count += 1) {
      replies.push(await send(gateway.port, '/api/device', bearer(token)));
    }

    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429]);
    expect(replies[0]?.headers['ratelimit-policy']).toBe('"client";q=3;w=60');
    expect(replies.map(({ headers }) => headers.ratelimit)).toEqual(
      [2, 1, 0, 0, 0].map((left) => expect.stringMatching(`^"client";r=${left};t=(60|59|58)$`)),
    );
    const refused = replies[3];
    expect(refused?.json).toMatchObject({ status: 429, code: 'too_many_requests' });
    expect(Number(refused?.headers['retry-after'])).toBeGreaterThan(50);
    expect(refused?.headers['cache-control']).toBe('no-store');
    expect(gateway.upstream.requests).toHaveLength(3);
  });

  test('starts again with the next window', async () => {
    const gateway = await boot({ clientRateLimit: { requests: 2, windowSeconds: 4 } });
    const token = await gateway.issueToken();
    const ask = async () => (await send(gateway.port, '/api/device', bearer(token))).status;
    expect([await ask(), await ask(), await ask()]).toEqual([200, 200, 429]);
    await until(async () => (await ask()) === 200);
  });

  test('is shared by all its kinds of credentials and not by other clients', async () => {
    const gateway = await boot({ clientRateLimit: { requests: 2, windowSeconds: 60 } });
    await gateway.saveClient({ clientId: 'other' });
    const [own, other] = [
      await gateway.issueToken(),
      await gateway.issueToken({ clientId: 'other' }),
    ];
    const replies = [
      await send(gateway.port, '/api/device', { headers: gateway.signed() }),
      await send(gateway.port, '/api/device', bearer(own)),
      await send(gateway.port, '/api/device', { headers: gateway.signed({ query: '' }) }),
      await send(gateway.port, '/api/device', bearer(other)),
    ];
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 429, 200]);
    // RS-01: a verified caller gets a signature with every status.
    expect(replies[2]?.headers).toHaveProperty('x-sign');
  });

  test('of a route counts every spelling of its path', async () => {
    const routes = deviceRoutes.map((route) => ({
      ...route,
      rateLimit:
        route.operation === 'device.detail' ? { requests: 2, windowSeconds: 60 } : undefined,
    }));
    const gateway = await boot({ routes });
    const token = await gateway.issueToken();
    const paths = ['/a/_detail', '/b/_detail', '/%63/_detail', '/a/_detail?x=1'];
    const replies: Received[] = [];
    for (const path of paths) {
      replies.push(await send(gateway.port, `/api/v1/device${path}`, bearer(token)));
    }
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 429, 429]);
    expect(replies[0]?.headers['ratelimit-policy']).toMatch(
      /^"client";q=\d+;w=60, "device.detail";q=2;w=60$/,
    );
    expect((await send(gateway.port, '/api/device', bearer(token))).status).toBe(200);
  });
});

describe('the limit of an address', () => {
  test('counts unverified requests', async () => {
    const gateway = await boot({ addressRateLimit: { requests: 5, windowSeconds: 60 } });
    const replies: Received[] = [];
    for (let count = 0; count < 8; count += 1) {
      replies.push(await send(gateway.port, '/api/device', bearer(`unknown-${count}`)));
    }
    expect(statuses(replies)).toEqual({ 401: 5, 429: 3 });
    expect(replies[0]?.headers.ratelimit).toMatch(/^"address";r=4;t=/);
    expect(replies[7]?.headers).toMatchObject({ 'retry-after': expect.any(String) });
  });

  test('counts the preflights that are answered', async () => {
    const gateway = await boot({ addressRateLimit: { requests: 5, windowSeconds: 60 } });
    const origin = 'https://app.example';
    await gateway.saveClient({ clientId: 'browser-app', corsOrigins: [origin] });
    const replies: Received[] = [];
    for (let count = 0; count < 8; count += 1) {
      const headers = { Origin: origin, 'Access-Control-Request-Method': 'GET' };
      replies.push(await send(gateway.port, '/api/device', { method: 'OPTIONS', headers }));
    }
    expect(statuses(replies)).toEqual({ 204: 5, 429: 3 });
  });

  test('stops bad credentials without a store read, at ten times the limit', async () => {
    const gateway = await boot({ addressRateLimit: { requests: 2, windowSeconds: 60 } });
    let reads = 0;
    const { store } = gateway.identity;
    const get = store.get.bind(store);
    store.get = (key) => {
      reads += 1;
      return get(key);
    };
    const replies: Received[] = [];
    for (let count = 0; count < 30; count += 1) {
      replies.push(await send(gateway.port, '/api/device', bearer(`unknown-${count}`)));
    }
    expect(statuses(replies)).toEqual({ 401: 2, 429: 28 });
    // One read verifies a token, two explain why it is rejected (decision 19).
    expect(reads).toBe(20 * 3);
    // Now the address is blocked for all requests.
    const token = await gateway.issueToken();
    expect((await send(gateway.port, '/api/device', bearer(token))).status).toBe(429);
  });

  test('does not block verified clients that share an address with an attacker', async () => {
    const gateway = await boot({ addressRateLimit: { requests: 2, windowSeconds: 60 } });
    const token = await gateway.issueToken();
    const anonymous = async () => (await send(gateway.port, '/api/device')).status;
    const bad = async () => (await send(gateway.port, '/api/device', bearer('x'))).status;
    expect([await anonymous(), await anonymous(), await anonymous(), await bad()]).toEqual([
      401, 401, 429, 429,
    ]);
    const good = await send(gateway.port, '/api/device', bearer(token));
    expect([good.status, good.headers['ratelimit-policy']]).toEqual([
      200,
      '"client";q=1000000;w=60',
    ]);
    const signed = await send(gateway.port, '/api/device', { headers: gateway.signed() });
    expect(signed.status).toBe(200);
    expect([await anonymous(), await bad()]).toEqual([429, 429]);
  });

  test('does not count malformed requests as bad credentials', async () => {
    const gateway = await boot({ addressRateLimit: { requests: 2, windowSeconds: 60 } });
    const malformed = { headers: { 'Content-Encoding': 'gzip' } };
    for (let count = 0; count < 30; count += 1) {
      const { status } = await send(gateway.port, '/api/device', malformed);
      expect(status).toBe(count < 2 ? 415 : 429);
    }
    const token = await gateway.issueToken();
    expect((await send(gateway.port, '/api/device', bearer(token))).status).toBe(200);
  });

  test('does not count verified requests', async () => {
    const gateway = await boot({ addressRateLimit: { requests: 1, windowSeconds: 60 } });
    const token = await gateway.issueToken();
    for (let count = 0; count < 5; count += 1) {
      expect((await send(gateway.port, '/api/device', bearer(token))).status).toBe(200);
    }
  });

  test('is not reset by a successful request', async () => {
    const gateway = await boot({ addressRateLimit: { requests: 2, windowSeconds: 60 } });
    const token = await gateway.issueToken();
    const ask = async (text: string) =>
      (await send(gateway.port, '/api/device', bearer(text))).status;
    expect([await ask('x'), await ask(token), await ask('y'), await ask('z')]).toEqual([
      401, 200, 401, 429,
    ]);
  });

  test.each(['X-Forwarded-For', 'X-Real-IP', 'Forwarded'])(
    'cannot be evaded with %s by a peer that is not a trusted proxy',
    async (name) => {
      const gateway = await boot({ addressRateLimit: { requests: 3, windowSeconds: 60 } });
      const replies: Received[] = [];
      for (let count = 0; count < 6; count += 1) {
        replies.push(
          await send(gateway.port, '/api/device', bearer('x', { [name]: `10.0.0.${count}` })),
        );
      }
      expect(statuses(replies)).toEqual({ 401: 3, 429: 3 });
    },
  );

  test('is shared by an IPv6 /56 and by mapped and plain IPv4 addresses', async () => {
    const gateway = await boot({
      addressRateLimit: { requests: 1, windowSeconds: 60 },
      trustedProxies: ['127.0.0.1'],
    });
    const ask = async (address: string) =>
      (await send(gateway.port, '/api/device', bearer('x', { 'X-Forwarded-For': address }))).status;
    expect(await ask('2001:db8:1:2200::1')).toBe(401);
    expect(await ask('2001:db8:1:22ff:ffff::9')).toBe(429);
    expect(await ask('2001:db8:1:2300::1')).toBe(401);
    expect(await ask('192.0.2.7')).toBe(401);
    expect(await ask('::ffff:192.0.2.7')).toBe(429);
  });

  test.each(['garbage', '[::', '::ffff:999.1.1.1', ',,,', '1.2.3.4, garbage'])(
    'tolerates X-Forwarded-For: %s',
    async (value) => {
      const gateway = await boot({ trustedProxies: ['127.0.0.1'] });
      const token = await gateway.issueToken();
      const reply = await send(
        gateway.port,
        '/api/device',
        bearer(token, { 'X-Forwarded-For': value }),
      );
      expect(reply.status).toBe(200);
    },
  );
});

describe.each(integrationEngines)('limits on %s', (name) => {
  let engine: StoreEngine;

  beforeAll(async () => {
    engine = await startStoreEngine(name);
  });
  afterAll(() => engine.stop());

  test('are shared by two gateways and hold for 200 concurrent requests', async () => {
    const limit = { requests: 50, windowSeconds: 60 };
    const masterKey = Buffer.alloc(32, 7);
    const options = { storeUrl: engine.storeUrl, clientRateLimit: limit, masterKey };
    const gateways = [await boot(options), await boot(options)];
    const token = (await gateways[0]?.issueToken()) ?? '';
    const replies = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        send(gateways[index % 2]?.port ?? 0, '/api/device', bearer(token)),
      ),
    );
    const counts = statuses(replies);
    expect((counts[200] ?? 0) + (counts[429] ?? 0)).toBe(200);
    // Never more. Less only by the lease that one gateway holds and the other cannot use.
    expect(counts[200]).toBeLessThanOrEqual(50);
    expect(counts[200]).toBeGreaterThanOrEqual(48);
  });
});

describe('an unavailable store', () => {
  test('leads to a 503, never to a request without a limit', async () => {
    const redis = await startRedisServer();
    const gateway = await boot({
      storeUrl: redis.url,
      clientRateLimit: { requests: 1000, windowSeconds: 1 },
    });
    const token = await gateway.issueToken();
    expect((await send(gateway.port, '/api/device', bearer(token))).status).toBe(200);
    await redis.kill();
    for (const credential of [token, 'unknown']) {
      const reply = await send(gateway.port, '/api/device', bearer(credential));
      expect([reply.status, reply.json.code]).toEqual([503, 'service_unavailable']);
    }
    await redis.stop();
  });
});

describe.each(integrationEngines)('the budget of signatures on %s', (name) => {
  let engine: StoreEngine;

  beforeAll(async () => {
    engine = await startStoreEngine(name);
  });
  afterAll(() => engine.stop());

  test('is limited by the free space of the store, for a client and its organization', async () => {
    let free = 4 * 512;
    const gateway = await boot({
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
    const sign = (clientId: string) => ({ headers: gateway.signedV2({ clientId }) });
    const call = (options: Parameters<typeof send>[2]) =>
      send(gateway.port, '/api/device', options);
    const repeat = async (clientId: string, times: number) => {
      const replies: Received[] = [];
      for (let count = 0; count < times; count += 1) {
        replies.push(await call(sign(clientId)));
      }
      return replies.map(({ status }) => status);
    };

    const first = sign('demo');
    expect((await call(first)).status).toBe(200);
    for (let count = 0; count < 10; count += 1) {
      expect((await call(first)).json.code).toBe('replayed_request');
    }
    expect(await repeat('demo', 5)).toEqual([200, 200, 200, 429, 429]);
    const refused = await call(sign('demo'));
    expect(refused.json).toMatchObject({
      code: 'too_many_requests',
      message: expect.stringContaining('signatures'),
    });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(600);
    // The organization may store twice as much. One of its permits went to a rejected request.
    expect(await repeat('second', 4)).toEqual([200, 200, 200, 200]);
    expect(await repeat('third', 1)).toEqual([429]);
    expect(await repeat('foreign', 4)).toEqual([200, 200, 200, 200]);
    // An access token stores nothing.
    expect((await call(bearer(await gateway.issueToken()))).status).toBe(200);

    // When space is freed, the budget grows within the window.
    free = 1_000_000;
    await until(async () => (await call(sign('demo'))).status === 200);
  });
});
