// requires: redis-server

import { type RedisServer, startRedisServer, until } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type BootedGateway, bootGateway, closeUnharmed } from './booted-gateway.ts';
import { send } from './http-client.ts';

let redis: RedisServer;

beforeAll(async () => {
  redis = await startRedisServer();
});
afterAll(() => redis.stop());

describe.each(['sqlite', 'redis'])('the gateway on %s', (engine) => {
  let booted: BootedGateway;

  beforeAll(async () => {
    booted = await bootGateway(engine === 'redis' ? { storeUrl: redis.url } : {});
  });
  afterAll(() => closeUnharmed(booted));

  test('accepts a good access token and rejects an unknown one', async () => {
    const token = await booted.issueToken();
    const good = await send(booted.port, '/api/device', {
      headers: { Authorization: `Bearer ${token}` },
    });
    const unknown = await send(booted.port, '/api/device', {
      headers: { Authorization: 'Bearer nobody' },
    });

    expect([good.status, unknown.status]).toEqual([200, 401]);
  });

  test('accepts a signed query and a signed body', async () => {
    const query = await send(booted.port, '/api/device?pageSize=20&pageIndex=0', {
      headers: booted.signed({ query: 'pageSize=20&pageIndex=0' }),
    });
    const body = await send(booted.port, '/device-instance', {
      method: 'POST',
      headers: booted.signed({ body: '{}' }),
      body: '{}',
    });

    expect([query.status, body.status]).toEqual([200, 200]);
  });

  test('accepts one of fifty concurrent uses of a signed body', async () => {
    const headers = booted.signed({ body: '{"id":"1"}' });
    booted.upstream.requests.length = 0;
    const replies = await Promise.all(
      Array.from({ length: 50 }, () =>
        send(booted.port, '/device-instance', { method: 'POST', headers, body: '{"id":"1"}' }),
      ),
    );

    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ json }) => json.code === 'replayed_request')).toHaveLength(49);
    expect(booted.upstream.requests).toHaveLength(1);
  });
});

describe('a store that becomes unavailable', () => {
  let own: RedisServer;
  let booted: BootedGateway;

  beforeAll(async () => {
    own = await startRedisServer();
    booted = await bootGateway({ storeUrl: own.url });
  });
  afterAll(async () => {
    await booted.close();
    await own.stop();
  });

  test.each(['killed', 'frozen'] as const)(
    'leads to a 503 in time if it is %s, never to a 401 or 2xx',
    async (fault) => {
      const token = await booted.issueToken();
      const bearer = { headers: { Authorization: `Bearer ${token}` } };
      expect((await send(booted.port, '/api/device', bearer)).status).toBe(200);
      booted.upstream.requests.length = 0;
      if (fault === 'killed') {
        await own.kill();
      } else {
        own.freeze();
      }
      for (const request of [bearer, { headers: booted.signed({ query: '' }) }]) {
        const reply = await send(booted.port, '/api/device', request);

        expect([reply.status, reply.json.code]).toEqual([503, 'service_unavailable']);
        expect(reply.headers['retry-after']).toBe('1');
        expect(reply.headers).not.toHaveProperty('x-sign');
        // test/faults measures the time. Without a deadline, a frozen store would never answer.
      }
      expect(booted.upstream.requests).toEqual([]);
      expect(booted.leakedSecrets()).toEqual([]);

      if (fault === 'killed') {
        await own.restart();
        await booted.saveClient({}, booted.secureKey).catch(() => {});
      } else {
        own.thaw();
      }
      await until(async () => (await attempt(booted)) === 200);
    },
  );
});

async function attempt(booted: BootedGateway): Promise<number> {
  await booted.saveClient({}, booted.secureKey);
  const token = await booted.issueToken();
  const reply = await send(booted.port, '/api/device', {
    headers: { Authorization: `Bearer ${token}` },
  });
  return reply.status;
}
