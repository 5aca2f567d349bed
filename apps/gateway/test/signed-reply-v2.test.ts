import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type BootedGateway, bootGateway, closeUnharmed } from './booted-gateway.ts';
import { type Received, send } from './http-client.ts';
import { digest, hmacLines, type SigningV2 } from './test-credentials.ts';

let clock = Date.now();
let booted: BootedGateway;

beforeAll(async () => {
  booted = await bootGateway({ now: () => clock });
  await booted.saveClient({ clientId: 'narrow', scopes: ['device:log'] }, booted.secureKey);
});
afterAll(() => closeUnharmed(booted));
beforeEach(() => {
  clock += 1000;
  booted.upstream.answerWith(undefined);
});

async function call(signing: SigningV2 = {}): Promise<readonly [Received, string]> {
  const headers = booted.signedV2(signing);
  const { method = 'GET', path = '/api/device' } = signing;
  return [await send(booted.port, path, { method, headers }), headers['X-Nonce'] ?? ''];
}

function signatureOf(reply: Received, nonce: string): string {
  const hash = digest('SHA-256', reply.body);
  const timestamp = String(reply.headers['x-timestamp']);
  const lines = ['GATEHOUSE-V2-REPLY', String(reply.status), nonce, hash, timestamp];
  return hmacLines(booted.secureKey, ...lines);
}

function expectSigned([reply, nonce]: readonly [Received, string], status: number): void {
  expect(reply.status).toBe(status);
  expect(reply.headers['x-timestamp']).toBe(String(clock));
  expect(reply.headers['x-sign-v2']).toBe(signatureOf(reply, nonce));
  expect(reply.headers).not.toHaveProperty('x-sign');
}

describe('the reply to a request that is signed with version 2', () => {
  test.each([200, 400, 404, 500])('is signed with status %d', async (status) => {
    booted.upstream.answerWith((_request, response) => {
      response.writeHead(status, { 'X-Sign-V2': 'forged', 'X-Sign': 'forged' });
      response.end(`{"status":${status},"text":"中"}`);
    });
    expectSigned(await call(), status);
  });

  test('is signed if the gateway itself answers', async () => {
    expectSigned(await call({ clientId: 'narrow' }), 403);
    expectSigned(await call({ path: '/no/such/path' }), 404);
    expectSigned(await call({ path: '/device-instance' }), 405);
    booted.upstream.answerWith((request) => request.socket.destroy());
    expectSigned(await call(), 502);
  });

  test('is signed even without a body, so that an attacker cannot remove the signature', async () => {
    booted.upstream.answerWith((_request, response) => {
      response.writeHead(204);
      response.end();
    });
    expectSigned(await call(), 204);
    booted.upstream.answerWith((_request, response) => response.end());
    expectSigned(await call(), 200);
    booted.upstream.answerWith(undefined);
    expectSigned(await call({ method: 'HEAD' }), 200);
    expectSigned(await call({ method: 'OPTIONS' }), 204);
  });

  test('has a signature that is valid only for its request and status', async () => {
    const [one, nonce] = await call();
    const [other, otherNonce] = await call();

    expect(one.body.equals(other.body)).toBe(true);
    expect(one.headers['x-sign-v2']).not.toBe(other.headers['x-sign-v2']);
    expect(signatureOf(one, otherNonce)).not.toBe(one.headers['x-sign-v2']);
    expect(signatureOf({ ...one, status: 201 }, nonce)).not.toBe(one.headers['x-sign-v2']);
  });

  test('is never a valid request in either version', async () => {
    const [{ headers, body }, nonce] = await call();
    const sign = String(headers['x-sign-v2']);
    const claimed = { 'X-Client-Id': 'demo', 'X-Timestamp': String(headers['x-timestamp']) };
    for (const again of [
      { ...claimed, 'X-Nonce': nonce, 'X-Sign-V2': sign },
      { ...claimed, 'X-Sign': sign },
    ]) {
      for (const [method, path] of [
        ['GET', '/api/device'],
        ['POST', '/device-instance'],
      ] as const) {
        const sent = method === 'POST' ? { body } : {};
        const reply = await send(booted.port, path, { method, headers: again, ...sent });
        expect([reply.status, reply.json.code]).toEqual([401, 'invalid_signature']);
      }
    }
  });

  test('becomes a signed 502 above 8 MiB', async () => {
    const mebibyte = Buffer.alloc(1024 * 1024, 'x');
    let size = 8;
    booted.upstream.answerWith((_request, response) => {
      for (let count = 0; count < size; count += 1) {
        response.write(mebibyte);
      }
      response.end();
    });
    expectSigned(await call(), 200);
    size = 9;
    expectSigned(await call(), 502);
  });

  test('is not signed for an unverified caller', async () => {
    for (const signing of [
      { secureKey: 'wrong' },
      { clientId: 'nobody' },
      { timestamp: '1' },
      { nonce: 'short' },
    ]) {
      const [{ headers }] = await call(signing);
      expect(headers).not.toHaveProperty('x-sign-v2');
      expect(headers).not.toHaveProperty('x-timestamp');
    }
  });
});
