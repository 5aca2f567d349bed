import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type BootedGateway, bootGateway, closeUnharmed } from './booted-gateway.ts';
import { type Received, send } from './http-client.ts';
import { digest } from './test-credentials.ts';

let clock = Date.now();
let booted: BootedGateway;

beforeAll(async () => {
  booted = await bootGateway({ now: () => clock });
  await booted.saveClient({ clientId: 'md5', signatureAlgorithm: 'MD5' }, booted.secureKey);
  await booted.saveClient({ clientId: 'narrow', scopes: ['device:log'] }, booted.secureKey);
});
afterAll(() => closeUnharmed(booted));
beforeEach(() => {
  clock += 1000;
  booted.upstream.answerWith(undefined);
});

function get(path = '/api/device', clientId = 'demo', algorithm: 'MD5' | 'SHA-256' = 'SHA-256') {
  return send(booted.port, path, { headers: booted.signed({ clientId, algorithm }) });
}

function answerWith(status: number, body: string): void {
  booted.upstream.answerWith((_request, response) => {
    response.writeHead(status, { 'Content-Type': 'application/json', 'X-Sign': 'forged' });
    response.end(body);
  });
}

function expectSigned(reply: Received, algorithm: 'MD5' | 'SHA-256' = 'SHA-256'): void {
  const timestamp = String(reply.headers['x-timestamp']);
  expect(timestamp).toMatch(/^[1-9][0-9]{12}$/);
  expect(timestamp).toBe(String(clock));
  expect(reply.headers['x-sign']).toBe(digest(algorithm, reply.body, timestamp, booted.secureKey));
}

describe('the reply to a verified signed request', () => {
  test('is signed with the algorithm of the client', async () => {
    expectSigned(await get());
    expectSigned(await get('/api/device', 'md5', 'MD5'), 'MD5');
  });

  test.each([200, 400, 404, 500])('is signed by the gateway with status %d', async (status) => {
    answerWith(status, `{"status":${status},"text":"中"}`);
    const reply = await get();

    expect(reply.status).toBe(status);
    expectSigned(reply);
  });

  test.each([
    ['403', '/api/device', 'narrow', 403],
    ['404', '/no/such/path', 'demo', 404],
    ['405', '/device-instance', 'demo', 405],
  ])('is signed if the gateway itself answers %s', async (_name, path, clientId, status) => {
    const reply = await get(path, clientId);

    expect(reply.status).toBe(status);
    expectSigned(reply);
  });

  test('is signed if the service is unavailable', async () => {
    booted.upstream.answerWith((request) => request.socket.destroy());
    const reply = await get();

    expect(reply.status).toBe(502);
    expectSigned(reply);
  });

  test('is not signed without a body', async () => {
    booted.upstream.answerWith((_request, response) => {
      response.writeHead(204);
      response.end();
    });
    const reply = await get();

    expect(reply.status).toBe(204);
    expect(reply.headers).not.toHaveProperty('x-sign');
    clock += 1000;
    booted.upstream.answerWith((_request, response) => response.end());
    expect((await get()).headers).not.toHaveProperty('x-sign');
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
    const whole = await get();
    expect(whole.body.length).toBe(8 * 1024 * 1024);
    expectSigned(whole);

    clock += 1000;
    size = 9;
    const tooLarge = await get();
    expect([tooLarge.status, tooLarge.json.code]).toEqual([502, 'bad_gateway']);
    expectSigned(tooLarge);
  });
});

describe('the reply to any other caller', () => {
  test('is never signed', async () => {
    const token = await booted.issueToken();
    const signed = booted.signed();
    const replies = [
      await send(booted.port, '/api/device'),
      await send(booted.port, '/api/device', { headers: { Authorization: `Bearer ${token}` } }),
      await send(booted.port, '/api/device', { headers: { 'X-Access-Token': 'any' } }),
      await send(booted.port, '/api/device', { headers: { ...signed, 'X-Client-Id': 'nobody' } }),
      await send(booted.port, '/api/device', { headers: booted.signed({ secureKey: 'wrong' }) }),
      await send(booted.port, '/api/device', { headers: booted.signed({ timestamp: '1' }) }),
      await send(booted.port, '/api/device?a=%00', { headers: signed }),
    ];
    expect(replies.map(({ status }) => status)).toEqual([401, 200, 401, 401, 401, 401, 400]);
    for (const { headers } of replies) {
      expect(headers).not.toHaveProperty('x-sign');
      expect(headers).not.toHaveProperty('x-timestamp');
    }
  });
});
