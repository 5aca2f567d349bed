import { connect } from 'node:net';
import { until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { sendRaw } from './http-client.ts';
import { bootSuiteGateway, openGateway } from './suite-gateway.ts';

const gateway = await bootSuiteGateway();
const authorization = await gateway.bearer();
const get = (method = 'GET') => gateway.send('/api/device', { method, headers: authorization });
const post = (body: string | Buffer | readonly Buffer[], headers: Record<string, string> = {}) =>
  gateway.send('/device-instance', {
    method: 'POST',
    headers: { ...authorization, ...headers },
    body,
  });
const rawGet = (value = authorization.Authorization) =>
  `GET /api/device HTTP/1.1\r\nHost: a\r\nAuthorization: ${value}\r\n\r\n`;

describe('a reply to the caller', () => {
  test('has no header that identifies the service or imitates the gateway', async () => {
    const hidden = {
      Server: 'secret/1.0',
      'X-Powered-By': 'Express',
      'X-Failure': 'not_found device_unknown',
      'X-Sign': 'forged',
      'X-Sign-V2': 'forged',
      'X-Timestamp': '1',
      'Set-Cookie': 'a=b',
      'Access-Control-Allow-Origin': '*',
      'X-Internal': 'yes',
    };
    gateway.upstream.answerWith((_request, response) => {
      const others = { 'Cache-Control': 'public, max-age=1', 'X-Total-Count': '3' };
      response.writeHead(200, { ...hidden, ...others, Connection: 'keep-alive, X-Internal' });
      response.end('{}');
    });
    const { headers } = await get();

    for (const name of Object.keys(hidden)) {
      expect(headers).not.toHaveProperty(name.toLowerCase());
    }
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-total-count': '3',
    });
  });

  test('keeps the connection open, and closes it if the rest of a body is unread', async () => {
    const kept = await sendRaw(gateway.port, rawGet() + rawGet());
    expect(kept.match(/HTTP\/1\.1 200 /g)).toHaveLength(2);
    expect(kept).not.toMatch(/^connection: close/im);

    // Otherwise, the rest would be read as the next request.
    const head = 'POST /device-instance HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n';
    const closed = await sendRaw(gateway.port, head + rawGet());
    expect(closed.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(closed).toMatch(/^HTTP\/1\.1 401 [\s\S]*^connection: close/im);
  });

  test('is streamed completely if it is large', async () => {
    const chunk = Buffer.alloc(64 * 1024, 'x');
    gateway.upstream.answerWith((_request, response) => {
      for (let count = 0; count < 160; count += 1) {
        response.write(chunk);
      }
      response.end();
    });
    expect((await get()).body.length).toBe(160 * chunk.length);
  });

  test.each([
    ['GET', 204, {}, undefined],
    ['HEAD', 200, { 'Content-Length': '123' }, '123'],
    ['HEAD', 204, { 'Content-Length': '123' }, undefined],
  ] as const)('to %s with status %d has no body', async (method, status, headers, length) => {
    gateway.upstream.answerWith((_request, response) => response.writeHead(status, headers).end());
    const reply = await get(method);
    expect([reply.status, reply.headers['content-length']]).toEqual([status, length]);
  });
});

describe('a request body that the gateway does not accept', () => {
  test.each(['Content-Length', 'chunked'])('is rejected above the limit (%s)', async (framing) => {
    const body = Buffer.alloc(1024 * 1024 + 1, 'a');
    const reply = await post(body, {
      ...(framing !== 'chunked' && { 'Content-Length': String(body.length) }),
    });
    expect([reply.status, reply.json.code]).toEqual([413, 'payload_too_large']);
    expect(gateway.upstream.requests).toEqual([]);
  });

  test('does no harm if the service answers before its end', async () => {
    gateway.upstream.answerWith((_request, response) => {
      response.writeHead(409, { 'Content-Type': 'application/json' }).end('{"early":true}');
    });
    for (const count of [1, 3, 40]) {
      const reply = await post(Array.from({ length: count }, () => Buffer.alloc(64 * 1024, 'a')));
      expect([409, 413, 502]).toContain(reply.status);
    }
  });

  test('is rejected for a method without a body', async () => {
    const headers = { ...authorization, 'Content-Length': '2' };
    const reply = await gateway.send('/api/device', { headers, body: '{}' });
    expect([reply.status, reply.json.code]).toEqual([400, 'illegal_argument']);
  });
});

describe('a caller that leaves', () => {
  test('ends the exchange with the service', async () => {
    const cut = Promise.withResolvers<void>();
    gateway.upstream.answerWith((request) => request.socket.once('close', cut.resolve));
    const socket = connect(gateway.port, '127.0.0.1');
    socket.write(rawGet());
    await until(() => gateway.upstream.requests.length > 0);
    socket.destroy();
    await cut.promise;
  });

  test('before its internal token was created causes no request to the service', async () => {
    const keyRead = Promise.withResolvers<void>();
    let isWaiting = false;
    const own = await openGateway({
      around: async (run, _operation, key) => {
        if (key.startsWith('signing-key:')) {
          isWaiting = true;
          await keyRead.promise;
        }
        return run();
      },
    });
    const socket = connect(own.port, '127.0.0.1').on('error', () => {});
    socket.write(rawGet((await own.bearer()).Authorization));
    await until(() => isWaiting);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.resetAndDestroy();
    await closed;
    // The gateway reads these requests after the end of the connection.
    await own.send('/time');
    await own.send('/time');
    keyRead.resolve();
    // Its request reaches the service after that of the other caller would have.
    const path = '/api/device?next';
    expect((await own.send(path, { headers: await own.bearer() })).status).toBe(200);
    expect(own.upstream.requests.map(({ url }) => url)).toEqual([path]);
  });
});
