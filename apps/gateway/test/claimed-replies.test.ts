// requires: redis-server

import { successEnvelope } from '@gatehouse/errors';
import { type RedisServer, startRedisServer, until } from '@gatehouse/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type BootedGateway, bootGateway, closeUnharmed } from './booted-gateway.ts';
import { type Received, send } from './http-client.ts';
import { digest } from './test-credentials.ts';

const masterKey = Buffer.alloc(32, 1);
let clock = Date.now();
let redis: RedisServer;
let booted: BootedGateway;

beforeAll(async () => {
  redis = await startRedisServer();
  booted = await bootGateway({ storeUrl: redis.url, masterKey, now: () => clock });
});
afterAll(async () => {
  await closeUnharmed(booted).finally(() => redis.stop());
});
beforeEach(() => {
  clock += 1000;
  booted.upstream.answerWith(undefined);
});

const text = '{"name":"no envelope"}';

function answerWith(meanwhile: () => void | Promise<void>): void {
  booted.upstream.answerWith((_request, response) => {
    void Promise.resolve(meanwhile()).then(() => response.end(text));
  });
}

function reflect(reply: Received, port = booted.port) {
  return send(port, '/device-instance', {
    method: 'POST',
    headers: {
      'X-Client-Id': 'demo',
      'X-Timestamp': String(reply.headers['x-timestamp']),
      'X-Sign': String(reply.headers['x-sign']),
    },
    body: reply.body,
  });
}

describe('SG-33 the signature of a reply of version 1', () => {
  test.each([-299_000, 0, 299_000])(
    'is marked as used for a gateway whose clock differs by %d ms',
    async (difference) => {
      const skewed = await bootGateway({
        storeUrl: redis.url,
        masterKey,
        now: () => clock + difference,
      });
      await skewed.saveClient({}, booted.secureKey);
      answerWith(() => undefined);
      const reply = await send(booted.port, '/api/device', { headers: booted.signed() });
      const reflected = await reflect(reply, skewed.port);

      expect([reflected.status, reflected.json.code]).toEqual([401, 'replayed_request']);
      await skewed.close();
    },
  );

  test('stays marked as used for the tolerance and 60 s more, like that of a request', async () => {
    await redis.command('FLUSHALL');
    await booted.saveClient({}, booted.secureKey);
    await send(booted.port, '/api/device', { headers: booted.signed() });
    const keys = (await redis.command('KEYS', 'replay:*')).match(/replay:\S+/g) ?? [];
    const lifetimes = await Promise.all(keys.map((key) => redis.command('PTTL', key)));

    expect(lifetimes).toHaveLength(2);
    for (const lifetime of lifetimes) {
      expect(Number(/\d+/.exec(lifetime)?.[0])).toBeGreaterThan(350_000);
    }
  });

  test('is not claimed for a successful envelope, because no request may begin like one', async () => {
    await redis.command('FLUSHALL');
    await booted.saveClient({}, booted.secureKey);
    const envelope = { ...successEnvelope([{ name: 'valve' }], clock), more: 1 };
    booted.upstream.answerWith((_request, response) => response.end(JSON.stringify(envelope)));
    const reply = await send(booted.port, '/api/device', { headers: booted.signed() });
    expect(reply.headers).toHaveProperty('x-sign');
    expect((await redis.command('KEYS', 'replay:*')).match(/replay:\S+/g)).toHaveLength(1);

    const reflected = await reflect(reply);
    expect([reflected.status, reflected.json.code]).toEqual([400, 'ambiguous_request']);
  });

  test('is the same for two equal replies in one millisecond, which are both signed', async () => {
    answerWith(() => undefined);
    const [first, second] = await Promise.all([
      send(booted.port, '/api/device', { headers: booted.signed() }),
      send(booted.port, '/api/device', { headers: booted.signed() }),
    ]);

    expect([first.status, second.status]).toEqual([200, 200]);
    expect(first.headers['x-sign']).toBe(digest('SHA-256', text, String(clock), booted.secureKey));
    expect(second.headers['x-sign']).toBe(first.headers['x-sign']);
    expect((await reflect(second)).status).toBe(401);
  });

  test.each(['killed', 'frozen'] as const)(
    'is not sent if the store is %s before the claim: the reply is an unsigned 503',
    async (fault) => {
      answerWith(() => (fault === 'killed' ? redis.kill() : redis.freeze()));
      const reply = await send(booted.port, '/api/device', { headers: booted.signed() });
      if (fault === 'killed') {
        await redis.restart();
      } else {
        redis.thaw();
      }

      expect([reply.status, reply.json.code]).toEqual([503, 'service_unavailable']);
      expect(reply.headers['retry-after']).toBe('1');
      expect(reply.headers).not.toHaveProperty('x-sign');
      expect(reply.headers).not.toHaveProperty('x-timestamp');
      expect(reply.body.toString()).not.toContain(text);
      await untilServed();
    },
  );

  test('is not claimed in version 2, whose replies do not need the store', async () => {
    answerWith(() => redis.kill());
    const reply = await send(booted.port, '/api/device', { headers: booted.signedV2() });
    await redis.restart();

    expect([reply.status, reply.body.toString()]).toEqual([200, text]);
    expect(reply.headers).toHaveProperty('x-sign-v2');
    await untilServed();
  });
});

/** Saves the client again, because a killed Redis has lost it. */
async function untilServed(): Promise<void> {
  booted.upstream.answerWith(undefined);
  await until(async () => {
    clock += 1;
    await booted.saveClient({}, booted.secureKey);
    return (await send(booted.port, '/api/device', { headers: booted.signed() })).status === 200;
  });
}
