import { describe, expect, test } from '@jest/globals';
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
