// requires: redis-server
import { integrationEngines, startRedisServer, startStoreEngine, until } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { deviceRoutes } from '../src/routes/route.ts';
import { type BootedGateway, bootGateway, closeUnharmed } from './booted-gateway.ts';
import { send } from './http-client.ts';

const origin = 'https://app.example';
let booted: BootedGateway;
let now = Date.now();

beforeAll(async () => {
  booted = await bootGateway({ now: () => now });
  await booted.saveClient({ clientId: 'browser-app', corsOrigins: [origin] });
});
afterAll(() => closeUnharmed(booted));

describe('/time', () => {
  test('returns the clock of the gateway without a credential, and is never cached', async () => {
    const reply = await send(booted.port, '/time');
    expect([reply.status, reply.json]).toEqual([
      200,
      { status: 200, code: 'success', message: 'success', result: now, timestamp: now },
    ]);
    expect(reply.headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-store',
    });
    expect(booted.upstream.requests).toEqual([]);
    expect(booted.logLines().at(-1)).toMatchObject({ operation: 'time', status: 200 });
  });

  test('lets a device whose clock is wrong sign a request that is accepted', async () => {
    now += 86_400_000;
    const { result } = (await send(booted.port, '/time')).json;
    const headers = booted.signedV2({ timestamp: String(result) });
    expect((await send(booted.port, '/api/device', { headers })).status).toBe(200);
  });

  test('is not signed, even for a request with a signature', async () => {
    const { headers } = await send(booted.port, '/time', {
      headers: booted.signedV2({ path: '/time' }),
    });
    expect(headers).not.toHaveProperty('x-sign-v2');
    expect(headers).not.toHaveProperty('x-sign');
  });

  test('answers HEAD without a body, and other methods with 405', async () => {
    const head = await send(booted.port, '/time', { method: 'HEAD' });
    expect([head.status, head.body.length]).toEqual([200, 0]);
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const reply = await send(booted.port, '/time', { method });
      expect([reply.status, reply.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
    }
  });

  test('can be read by pages of a registered origin only', async () => {
    const from = (value: string) => send(booted.port, '/time', { headers: { Origin: value } });
    expect((await from(origin)).headers['access-control-allow-origin']).toBe(origin);
    const other = await from('https://evil.example');
    expect(other.headers).not.toHaveProperty('access-control-allow-origin');
  });

  test('is replaced by a route with its path', async () => {
    const routes = deviceRoutes.slice(0, 1).map((route) => ({ ...route, path: '/time' }));
    const gateway = await bootGateway({ routes });
    const { json } = await send(gateway.port, '/openapi.json');
    expect((await send(gateway.port, '/time')).status).toBe(401);
    expect(json.paths).not.toHaveProperty('/time');
    await gateway.close();
  });

  test('stays if a route with its path has another method', async () => {
    const list = deviceRoutes.filter(({ operation }) => operation === 'device.list');
    const routes = list.map((route) => ({ ...route, path: '/time', method: 'POST' as const }));
    const gateway = await bootGateway({ routes });
    const statuses = ['GET', 'POST', 'PUT'].map(
      async (method) => (await send(gateway.port, '/time', { method })).status,
    );
    // Without a credential, the route replies with 401.
    expect(await Promise.all(statuses)).toEqual([200, 401, 405]);
    await gateway.close();
  });

  test.each(integrationEngines)(
    'counts against the rate limit of the address group, with the store %s',
    async (name) => {
      const engine = await startStoreEngine(name);
      const limited = await bootGateway({
        storeUrl: engine.storeUrl,
        addressRateLimit: { requests: 3, windowSeconds: 60 },
      });
      const statuses: number[] = [];
      for (let count = 0; count < 5; count += 1) {
        statuses.push((await send(limited.port, '/time')).status);
      }
      expect(statuses).toEqual([200, 200, 200, 429, 429]);
      await limited.close();
      await engine.stop();
    },
  );

  test('works while the store is unavailable, and is limited again afterwards', async () => {
    const redis = await startRedisServer();
    const limited = await bootGateway({
      storeUrl: redis.url,
      addressRateLimit: { requests: 3, windowSeconds: 60 },
    });
    await redis.kill();
    for (let count = 0; count < 5; count += 1) {
      const before = Date.now();
      const { status, json } = await send(limited.port, '/time');
      expect([status, json.code]).toEqual([200, 'success']);
      expect(json.result).toBeGreaterThanOrEqual(before);
    }
    // The browser of a registered origin could not read the reply, so it must ask again.
    const { headers } = await send(limited.port, '/openapi.json', { headers: { Origin: origin } });
    expect(headers).not.toHaveProperty('access-control-allow-origin');
    expect(headers['cache-control']).toMatch(/no-store$/);
    await redis.restart();
    await until(async () => (await send(limited.port, '/time')).status === 429);
    await limited.close();
    await redis.stop();
  });
});
