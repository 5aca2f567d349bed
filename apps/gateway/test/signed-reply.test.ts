// requires: redis-server

import { successEnvelope } from '@gatehouse/errors';
import { startRedisServer, until } from '@gatehouse/testing';
import { afterAll, describe, expect, test } from '@jest/globals';
import { type BootedGateway, bootGateway } from './booted-gateway.ts';
import type { Received } from './http-client.ts';
import { bootClockedGateway } from './suite-gateway.ts';
import { digest, hmacLines, type Signing, type SigningV2 } from './test-credentials.ts';

const gateway = await bootClockedGateway();
await gateway.saveClient({ clientId: 'narrow', scopes: ['device:log'] }, gateway.secureKey);
await gateway.saveClient({ clientId: 'md5', signatureAlgorithm: 'MD5' }, gateway.secureKey);

/** The signature by the text of docs/signing.md. */
function signatureV2(reply: Received, nonce: string): string {
  const hash = digest('SHA-256', reply.body);
  const timestamp = String(reply.headers['x-timestamp']);
  const lines = ['GATEHOUSE-V2-REPLY', String(reply.status), nonce, hash, timestamp];
  return hmacLines(gateway.secureKey, ...lines);
}

interface Exchange {
  readonly reply: Received;
  readonly sent: Readonly<Record<string, string>>;
}

async function call(version: 1 | 2, signing: Signing & SigningV2 = {}): Promise<Exchange> {
  gateway.clock.now += 1;
  const sent = version === 1 ? gateway.signed(signing) : gateway.signedV2(signing);
  const { method = 'GET', path = '/api/device' } = signing;
  return { reply: await gateway.send(path, { method, headers: sent }), sent };
}

function expectSigned(version: 1 | 2, { reply, sent }: Exchange, status: number): void {
  const { 'x-timestamp': timestamp, 'x-sign': sign, 'x-sign-v2': signV2 } = reply.headers;
  const { body } = reply;
  expect([reply.status, timestamp]).toEqual([status, String(gateway.clock.now)]);
  expect([sign, signV2]).toEqual(
    version === 1
      ? [digest('SHA-256', body, String(timestamp), gateway.secureKey), undefined]
      : [undefined, signatureV2(reply, sent['X-Nonce'] ?? '')],
  );
}

function answerWith(status: number, body?: string): void {
  gateway.upstream.answerWith((_request, response) => {
    response.writeHead(status, { 'X-Sign': 'forged', 'X-Sign-V2': 'forged', 'X-Timestamp': '1' });
    response.end(body);
  });
}

describe.each([1, 2] as const)('the reply to a request of version %d', (version) => {
  test.each([200, 400, 404, 500])('is signed by the gateway with status %d', async (status) => {
    answerWith(status, `{"status":${status},"text":"中"}`);
    expectSigned(version, await call(version), status);
  });

  test('is signed if the gateway itself answers', async () => {
    expectSigned(version, await call(version, { clientId: 'narrow' }), 403);
    expectSigned(version, await call(version, { path: '/no/such/path' }), 404);
    expectSigned(version, await call(version, { path: '/device-instance' }), 405);
    gateway.upstream.answerWith((request) => request.socket.destroy());
    expectSigned(version, await call(version), 502);
  });

  test('becomes a signed 502 above 8 MiB', async () => {
    const mebibyte = 1024 * 1024;
    answerWith(200, 'x'.repeat(8 * mebibyte));
    expectSigned(version, await call(version), 200);
    answerWith(200, 'x'.repeat(9 * mebibyte));
    expectSigned(version, await call(version), 502);
  });

  test('is not signed for an unverified caller', async () => {
    for (const signing of [
      { secureKey: 'wrong' },
      { clientId: 'nobody' },
      { timestamp: '1' },
      { query: 'a=1' },
    ]) {
      const { headers, status } = (await call(version, signing)).reply;
      expect(status).toBe(401);
      for (const name of ['x-sign', 'x-sign-v2', 'x-timestamp']) {
        expect(headers).not.toHaveProperty(name);
      }
    }
  });

  test('without a body is signed in version 2 only, whose signature cannot be removed', async () => {
    const expectIt = (exchange: Exchange, status: number) => {
      if (version === 2) {
        return expectSigned(2, exchange, status);
      }
      expect([exchange.reply.status, exchange.reply.headers['x-sign']]).toEqual([
        status,
        undefined,
      ]);
    };
    answerWith(204);
    expectIt(await call(version), 204);
    answerWith(200, '');
    expectIt(await call(version), 200);
    expectIt(await call(version, { method: 'HEAD' }), 200);
    expectIt(await call(version, { method: 'OPTIONS' }), 204);
  });
});

test('A reply of version 1 is signed with the algorithm of the client.', async () => {
  const { headers, body } = (await call(1, { clientId: 'md5', algorithm: 'MD5' })).reply;
  const timestamp = String(headers['x-timestamp']);
  expect(headers['x-sign']).toBe(digest('MD5', body, timestamp, gateway.secureKey));
});

test('A signature of version 2 is valid for one request and status, and never a request.', async () => {
  const [one, other] = [await call(2), await call(2)];
  const sign = String(one.reply.headers['x-sign-v2']);
  const nonce = one.sent['X-Nonce'] ?? '';
  expect(signatureV2(one.reply, other.sent['X-Nonce'] ?? '')).not.toBe(sign);
  expect(signatureV2({ ...one.reply, status: 201 }, nonce)).not.toBe(sign);

  const timestamp = String(one.reply.headers['x-timestamp']);
  const claimed = { 'X-Client-Id': 'demo', 'X-Timestamp': timestamp };
  for (const headers of [
    { ...claimed, 'X-Nonce': nonce, 'X-Sign-V2': sign },
    { ...claimed, 'X-Sign': sign },
  ]) {
    for (const [path, sent] of [
      ['/api/device', {}],
      ['/device-instance', { method: 'POST', body: one.reply.body }],
    ] as const) {
      const reply = await gateway.send(path, { ...sent, headers });
      expect([reply.status, reply.json.code]).toEqual([401, 'invalid_signature']);
    }
  }
});

const masterKey = Buffer.alloc(32, 1);
const redis = await startRedisServer();
const claiming = await bootClockedGateway({ storeUrl: redis.url, masterKey });
afterAll(() => redis.stop());

const text = '{"name":"no envelope"}';
const getSigned = () => claiming.send('/api/device', { headers: claiming.signed() });

function answerAfter(meanwhile: () => void | Promise<void>): void {
  claiming.upstream.answerWith((_request, response) => {
    void Promise.resolve(meanwhile()).then(() => response.end(text));
  });
}

function reflect(reply: Received, at: BootedGateway = claiming) {
  const headers = {
    'X-Client-Id': 'demo',
    'X-Timestamp': String(reply.headers['x-timestamp']),
    'X-Sign': String(reply.headers['x-sign']),
  };
  return at.send('/device-instance', { method: 'POST', headers, body: reply.body });
}

/** Saves the client again, because a killed Redis has lost it. */
async function untilServed(): Promise<void> {
  claiming.upstream.answerWith(undefined);
  await until(async () => {
    claiming.clock.now += 1;
    await claiming.saveClient({}, claiming.secureKey);
    return (await getSigned()).status === 200;
  });
}

describe('the signature of a reply of version 1', () => {
  test.each([-299_000, 0, 299_000])(
    'is marked as used for a claiming whose clock differs by %d ms',
    async (difference) => {
      const now = () => claiming.clock.now + difference;
      const skewed = await bootGateway({ storeUrl: redis.url, masterKey, now });
      await skewed.saveClient({}, claiming.secureKey);
      answerAfter(() => undefined);
      const reflected = await reflect(await getSigned(), skewed);

      expect([reflected.status, reflected.json.code]).toEqual([401, 'replayed_request']);
      await skewed.close();
    },
  );

  test('stays marked as used for the tolerance and 60 s more, like that of a request', async () => {
    await redis.command('FLUSHALL');
    await claiming.saveClient({}, claiming.secureKey);
    await getSigned();
    const keys = (await redis.command('KEYS', 'replay:*')).match(/replay:\S+/g) ?? [];
    const lifetimes = await Promise.all(keys.map((key) => redis.command('PTTL', key)));

    expect(lifetimes).toHaveLength(2);
    for (const lifetime of lifetimes) {
      expect(Number(/\d+/.exec(lifetime)?.[0])).toBeGreaterThan(350_000);
    }
  });

  test('is not claimed for a successful envelope, because no request may begin like one', async () => {
    await redis.command('FLUSHALL');
    await claiming.saveClient({}, claiming.secureKey);
    const envelope = { ...successEnvelope([{ name: 'valve' }], claiming.clock.now), more: 1 };
    claiming.upstream.answerWith((_request, response) => response.end(JSON.stringify(envelope)));
    const reply = await getSigned();
    expect(reply.headers).toHaveProperty('x-sign');
    expect((await redis.command('KEYS', 'replay:*')).match(/replay:\S+/g)).toHaveLength(1);

    const reflected = await reflect(reply);
    expect([reflected.status, reflected.json.code]).toEqual([400, 'ambiguous_request']);
  });

  test('is the same for two equal replies in one millisecond, which are both signed', async () => {
    answerAfter(() => undefined);
    const replies = await Promise.all([getSigned(), getSigned()]);
    const sign = digest('SHA-256', text, String(claiming.clock.now), claiming.secureKey);
    for (const reply of replies) {
      expect([reply.status, reply.headers['x-sign']]).toEqual([200, sign]);
      expect((await reflect(reply)).status).toBe(401);
    }
  });

  test.each(['killed', 'frozen'] as const)(
    'is not sent if the store is %s before the claim: the reply is an unsigned 503',
    async (fault) => {
      answerAfter(() => (fault === 'killed' ? redis.kill() : redis.freeze()));
      const reply = await getSigned();
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
    answerAfter(() => redis.kill());
    const reply = await claiming.send('/api/device', { headers: claiming.signedV2() });
    await redis.restart();

    expect([reply.status, reply.body.toString()]).toEqual([200, text]);
    expect(reply.headers).toHaveProperty('x-sign-v2');
    await untilServed();
  });
});
