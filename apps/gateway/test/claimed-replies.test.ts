// requires: redis-server

import { successEnvelope } from '@gatehouse/errors';
import { startRedisServer, until } from '@gatehouse/testing';
import { afterAll, describe, expect, test } from '@jest/globals';
import { type BootedGateway, bootGateway } from './booted-gateway.ts';
import type { Received } from './http-client.ts';
import { bootClockedGateway } from './suite-gateway.ts';
import { digest } from './test-credentials.ts';

const masterKey = Buffer.alloc(32, 1);
const redis = await startRedisServer();
const gateway = await bootClockedGateway({ storeUrl: redis.url, masterKey });
afterAll(() => redis.stop());

const text = '{"name":"no envelope"}';
const get = () => gateway.send('/api/device', { headers: gateway.signed() });

function answerWith(meanwhile: () => void | Promise<void>): void {
  gateway.upstream.answerWith((_request, response) => {
    void Promise.resolve(meanwhile()).then(() => response.end(text));
  });
}

function reflect(reply: Received, at: BootedGateway = gateway) {
  const headers = {
    'X-Client-Id': 'demo',
    'X-Timestamp': String(reply.headers['x-timestamp']),
    'X-Sign': String(reply.headers['x-sign']),
  };
  return at.send('/device-instance', { method: 'POST', headers, body: reply.body });
}

/** Saves the client again, because a killed Redis has lost it. */
async function untilServed(): Promise<void> {
  gateway.upstream.answerWith(undefined);
  await until(async () => {
    gateway.clock.now += 1;
    await gateway.saveClient({}, gateway.secureKey);
    return (await get()).status === 200;
  });
}

describe('the signature of a reply of version 1', () => {
  test.each([-299_000, 0, 299_000])(
    'is marked as used for a gateway whose clock differs by %d ms',
    async (difference) => {
      const now = () => gateway.clock.now + difference;
      const skewed = await bootGateway({ storeUrl: redis.url, masterKey, now });
      await skewed.saveClient({}, gateway.secureKey);
      answerWith(() => undefined);
      const reflected = await reflect(await get(), skewed);

      expect([reflected.status, reflected.json.code]).toEqual([401, 'replayed_request']);
      await skewed.close();
    },
  );

  test('stays marked as used for the tolerance and 60 s more, like that of a request', async () => {
    await redis.command('FLUSHALL');
    await gateway.saveClient({}, gateway.secureKey);
    await get();
    const keys = (await redis.command('KEYS', 'replay:*')).match(/replay:\S+/g) ?? [];
    const lifetimes = await Promise.all(keys.map((key) => redis.command('PTTL', key)));

    expect(lifetimes).toHaveLength(2);
    for (const lifetime of lifetimes) {
      expect(Number(/\d+/.exec(lifetime)?.[0])).toBeGreaterThan(350_000);
    }
  });

  test('is not claimed for a successful envelope, because no request may begin like one', async () => {
    await redis.command('FLUSHALL');
    await gateway.saveClient({}, gateway.secureKey);
    const envelope = { ...successEnvelope([{ name: 'valve' }], gateway.clock.now), more: 1 };
    gateway.upstream.answerWith((_request, response) => response.end(JSON.stringify(envelope)));
    const reply = await get();
    expect(reply.headers).toHaveProperty('x-sign');
    expect((await redis.command('KEYS', 'replay:*')).match(/replay:\S+/g)).toHaveLength(1);

    const reflected = await reflect(reply);
    expect([reflected.status, reflected.json.code]).toEqual([400, 'ambiguous_request']);
  });

  test('is the same for two equal replies in one millisecond, which are both signed', async () => {
    answerWith(() => undefined);
    const replies = await Promise.all([get(), get()]);
    const sign = digest('SHA-256', text, String(gateway.clock.now), gateway.secureKey);
    for (const reply of replies) {
      expect([reply.status, reply.headers['x-sign']]).toEqual([200, sign]);
      expect((await reflect(reply)).status).toBe(401);
    }
  });

  test.each(['killed', 'frozen'] as const)(
    'is not sent if the store is %s before the claim: the reply is an unsigned 503',
    async (fault) => {
      answerWith(() => (fault === 'killed' ? redis.kill() : redis.freeze()));
      const reply = await get();
      await (fault === 'killed' ? redis.restart() : redis.thaw());

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
    const reply = await gateway.send('/api/device', { headers: gateway.signedV2() });
    await redis.restart();

    expect([reply.status, reply.body.toString()]).toEqual([200, text]);
    expect(reply.headers).toHaveProperty('x-sign-v2');
    await untilServed();
  });
});
