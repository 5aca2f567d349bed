// requires: redis-server
import { integrationEngines, startRedisServer, startStoreEngine, until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { deviceRoutes } from '../src/routes/route.ts';
import { bootClockedGateway, openGateway } from './suite-gateway.ts';

const origin = 'https://app.example';
const gateway = await bootClockedGateway();
await gateway.saveClient({ clientId: 'browser-app', corsOrigins: [origin] });
const list = deviceRoutes.filter(({ operation }) => operation === 'device.list');

describe('/time', () => {
  test('returns the clock of the gateway without a credential, and is never cached or signed', async () => {
    const { now } = gateway.clock;
    for (const headers of [{}, gateway.signed(), gateway.signedV2({ path: '/time' })]) {
      const reply = await gateway.send('/time', { headers });
      const success = { status: 200, code: 'success', message: 'success' };
      expect(reply.json).toEqual({ ...success, result: now, timestamp: now });
      expect(reply.headers).toMatchObject({
        'content-type': 'application/json',
        'cache-control': 'no-store',
      });
      expect(reply.headers).not.toHaveProperty('x-sign-v2');
      expect(reply.headers).not.toHaveProperty('x-sign');
    }
    expect(gateway.upstream.requests).toEqual([]);
    expect(gateway.logLines().at(-1)).toMatchObject({ operation: 'time', status: 200 });
  });

  test('lets a device whose clock is wrong sign a request that is accepted', async () => {
    gateway.clock.now += 86_400_000;
    const { result } = (await gateway.send('/time')).json;
    const headers = gateway.signedV2({ timestamp: String(result) });
    expect((await gateway.send('/api/device', { headers })).status).toBe(200);
  });

  test('answers HEAD without a body, and other methods with 405', async () => {
    const head = await gateway.send('/time', { method: 'HEAD' });
    expect([head.status, head.body.length]).toEqual([200, 0]);
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const reply = await gateway.send('/time', { method });
      expect([reply.status, reply.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
    }
  });

  test('can be read by pages of a registered origin only', async () => {
    const allowed = async (Origin: string) =>
      (await gateway.send('/time', { headers: { Origin } })).headers['access-control-allow-origin'];
    expect(await allowed(origin)).toBe(origin);
    expect(await allowed('https://evil.example')).toBeUndefined();
  });

  test.each([
    // Without a credential, the route replies with 401.
    ['GET', [401, 401, 401], false],
    ['POST', [200, 401, 405], true],
  ] as const)(
    'with a route of its path for %s replies to GET, POST and PUT with %j',
    async (method, expected, isDescribed) => {
      const routes = list.map((route) => ({ ...route, path: '/time', method }));
      const own = await openGateway({ routes });
      const statuses = ['GET', 'POST', 'PUT'].map(
        async (asked) => (await own.send('/time', { method: asked })).status,
      );
      expect(await Promise.all(statuses)).toEqual(expected);
      const { paths } = (await own.send('/openapi.json')).json;
      expect('/time' in paths).toBe(isDescribed);
    },
  );

  test.each(integrationEngines)(
    'counts against the rate limit of the address group, with the store %s',
    async (name) => {
      const engine = await startStoreEngine(name);
      const addressRateLimit = { requests: 3, windowSeconds: 60 };
      const limited = await openGateway({ storeUrl: engine.storeUrl, addressRateLimit });
      const statuses: number[] = [];
      for (let count = 0; count < 5; count += 1) {
        statuses.push((await limited.send('/time')).status);
      }
      expect(statuses).toEqual([200, 200, 200, 429, 429]);
      await engine.stop();
    },
  );

  test('works while the store is unavailable, and is limited again afterwards', async () => {
    const redis = await startRedisServer();
    const addressRateLimit = { requests: 3, windowSeconds: 60 };
    const limited = await openGateway({ storeUrl: redis.url, addressRateLimit });
    await redis.kill();
    for (let count = 0; count < 5; count += 1) {
      const { status, json } = await limited.send('/time');
      expect([status, json.code]).toEqual([200, 'success']);
    }
    // The browser of a registered origin could not read the reply, so it must ask again.
    const { headers } = await limited.send('/openapi.json', { headers: { Origin: origin } });
    expect(headers).not.toHaveProperty('access-control-allow-origin');
    expect(headers['cache-control']).toMatch(/no-store$/);
    await redis.restart();
    await until(async () => (await limited.send('/time')).status === 429);
    await redis.stop();
  });
});
