import { connect } from 'node:net';
import { until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { send, sendRaw } from './http-client.ts';
import { bootSuiteGateway } from './suite-gateway.ts';

const booted = await bootSuiteGateway();
const token = await booted.issueToken();

function bearer(headers: Record<string, string> = {}) {
  return { headers: { Authorization: `Bearer ${token}`, ...headers } };
}

describe('a reply to the caller', () => {
  test('has no header that identifies the service or imitates the gateway', async () => {
    booted.upstream.answerWith((_request, response) => {
      response.writeHead(200, {
        'Content-Type': 'application/json',
        Server: 'secret/1.0',
        'X-Powered-By': 'Express',
        'X-Failure': 'not_found device_unknown',
        'X-Sign': 'forged',
        'X-Sign-V2': 'forged',
        'X-Timestamp': '1',
        'Set-Cookie': 'a=b',
        'Access-Control-Allow-Origin': '*',
        'Cache-Control': 'public, max-age=1',
        Connection: 'keep-alive, X-Internal',
        'X-Internal': 'yes',
        'X-Total-Count': '3',
      });
      response.end('{}');
    });
    const reply = await send(booted.port, '/api/device', bearer());

    const signature = ['x-sign', 'x-sign-v2', 'x-timestamp'];
    for (const name of ['server', 'x-powered-by', 'x-failure', 'set-cookie', ...signature]) {
      expect(reply.headers).not.toHaveProperty(name);
    }
    expect(reply.headers).not.toHaveProperty('access-control-allow-origin');
    expect(reply.headers).not.toHaveProperty('x-internal');
    expect(reply.headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-total-count': '3',
    });
  });

  test('keeps the connection open, and closes it only if the rest of a body is unread', async () => {
    booted.upstream.answerWith(undefined);
    const get = `GET /api/device HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    const kept = await sendRaw(booted.port, get + get);
    expect(kept.match(/HTTP\/1\.1 200 /g)).toHaveLength(2);
    expect(kept).not.toMatch(/^connection: close/im);

    const unread = 'POST /device-instance HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx';
    const closed = await sendRaw(booted.port, unread + get);
    expect(closed.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(closed).toMatch(/^HTTP\/1\.1 401 [\s\S]*^connection: close/im);
  });

  test('is streamed completely if it is large', async () => {
    const chunk = Buffer.alloc(64 * 1024, 'x');
    booted.upstream.answerWith((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/octet-stream' });
      for (let count = 0; count < 160; count += 1) {
        response.write(chunk);
      }
      response.end();
    });
    const reply = await send(booted.port, '/api/device', bearer());

    expect(reply.body.length).toBe(160 * chunk.length);
  });

  test('keeps status and length if it has no body', async () => {
    booted.upstream.answerWith((_request, response) => {
      response.writeHead(204);
      response.end();
    });
    expect((await send(booted.port, '/api/device', bearer())).status).toBe(204);
    booted.upstream.answerWith((_request, response) => {
      response.writeHead(200, { 'Content-Length': '123' });
      response.end();
    });
    const head = await send(booted.port, '/api/device', { method: 'HEAD', ...bearer() });
    expect([head.status, head.headers['content-length']]).toEqual([200, '123']);
  });

  test('has no length if the upstream replies to HEAD with 204 and a length', async () => {
    booted.upstream.answerWith((_request, response) => {
      response.writeHead(204, { 'Content-Length': '123' });
      response.end();
    });
    const head = await send(booted.port, '/api/device', { method: 'HEAD', ...bearer() });
    expect([head.status, head.headers['content-length']]).toEqual([204, undefined]);
  });
});

describe('a request body that the gateway does not accept', () => {
  test.each(['Content-Length', 'chunked'])('is rejected above the limit (%s)', async (framing) => {
    const body = Buffer.alloc(1024 * 1024 + 1, 'a');
    const reply = await send(booted.port, '/device-instance', {
      method: 'POST',
      ...bearer(
        framing === 'chunked'
          ? { 'Transfer-Encoding': 'chunked' }
          : { 'Content-Length': String(body.length) },
      ),
      body,
    });
    expect([reply.status, reply.json.code]).toEqual([413, 'payload_too_large']);
    expect(booted.upstream.requests).toEqual([]);
  });

  test('closes the connection, so that the rest is never read as the next request', async () => {
    const smuggled = 'GET /api/device HTTP/1.1\r\nHost: gateway\r\n\r\n';
    const replies = await sendRaw(
      booted.port,
      `POST /device-instance HTTP/1.1\r\nHost: gateway\r\nContent-Length: 1000\r\n\r\n${smuggled}`,
    );

    expect(replies.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(replies).toMatch(/^HTTP\/1.1 401 /);
    expect(replies).toMatch(/Connection: close/i);
  });

  test('does no harm if the service answers before the end of the body', async () => {
    booted.upstream.answerWith((_request, response) => {
      response.writeHead(409, { 'Content-Type': 'application/json' });
      response.end('{"early":true}');
    });
    for (const count of [1, 3, 40]) {
      const reply = await send(booted.port, '/device-instance', {
        method: 'POST',
        ...bearer({ 'Transfer-Encoding': 'chunked' }),
        body: Array.from({ length: count }, () => Buffer.alloc(64 * 1024, 'a')),
      });
      expect([409, 413, 502]).toContain(reply.status);
    }
  });

  test('is rejected for a method without a body', async () => {
    const reply = await send(booted.port, '/api/device', {
      ...bearer({ 'Content-Length': '2' }),
      body: '{}',
    });
    expect([reply.status, reply.json.code]).toEqual([400, 'illegal_argument']);
  });
});

describe('a caller that leaves', () => {
  test('ends the exchange with the service', async () => {
    const cut = new Promise<void>((resolve) => {
      booted.upstream.answerWith((request) => request.socket.once('close', () => resolve()));
    });
    const socket = connect(booted.port, '127.0.0.1');
    socket.write(`GET /api/device HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    await until(() => booted.upstream.requests.length > 0);
    socket.destroy();

    await cut;
  });
});
