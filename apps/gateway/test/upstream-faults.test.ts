import { createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Route } from '../src/routes/route.ts';
import { deviceRoutes } from '../src/routes/route.ts';
import { type BootedGateway, bootGateway } from './booted-gateway.ts';
import { send } from './http-client.ts';

const events: Route = {
  operation: 'events',
  method: 'GET',
  path: '/events',
  scope: 'device:read',
  credentials: ['bearer'],
  upstream: 'device-service',
  timeoutMilliseconds: 1000,
  bodyLimitBytes: 1024,
  requestHeaders: [],
  rateLimit: undefined,
  streaming: true,
  webSocket: false,
};

/** A service that answers with raw bytes, or not at all. */
let answer: (socket: Socket) => void = () => {};
let connections = 0;
let service: Server;
let booted: BootedGateway;
let token: string;

beforeAll(async () => {
  service = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', () => {
      connections += 1;
      answer(socket);
    });
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const { port } = service.address() as { port: number };
  booted = await bootGateway({
    deviceServiceUrl: `http://127.0.0.1:${port}`,
    routes: [...deviceRoutes, events].map((route) => ({ ...route, timeoutMilliseconds: 1000 })),
    upstreamConnections: 3,
    upstreamMaximumRequests: 3,
  });
  token = await booted.issueToken();
});
afterEach(async () => {
  expect(booted.leakedSecrets()).toEqual([]);
  answer = (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}');
  expect((await get()).status).toBe(200);
});
afterAll(async () => {
  await booted.close();
  service.close();
});

function get() {
  return send(booted.port, '/api/device', { headers: { Authorization: `Bearer ${token}` } });
}

let signedRequests = 0;
function getSigned() {
  signedRequests += 1;
  const query = `count=${signedRequests}`;
  return send(booted.port, `/api/device?${query}`, { headers: booted.signed({ query }) });
}

describe('a service that fails', () => {
  test.each([
    ['refuses the connection', 'http://127.0.0.1:1'],
    // No resolver is asked for a label of more than 63 characters.
    ['has no address', `http://${'a'.repeat(64)}.invalid:8850`],
  ])('and %s leads to a 502 before the deadline of the route', async (_name, deviceServiceUrl) => {
    const alone = await bootGateway({ deviceServiceUrl });
    const headers = { Authorization: `Bearer ${await alone.issueToken()}` };
    const reply = await send(alone.port, '/api/device', { headers });

    expect([reply.status, reply.json.code]).toEqual([502, 'bad_gateway']);
    expect(reply.body.toString()).not.toMatch(/ECONN|ENOTFOUND|127\.0\.0\.1|invalid:/);
    await alone.close();
  });

  test('by silence leads to a 504 at the deadline', async () => {
    answer = () => {};
    const reply = await get();

    expect([reply.status, reply.json.code]).toEqual([504, 'timeout']);
  });

  test('by sending slowly is disconnected at the deadline', async () => {
    answer = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n');
      const trickle = setInterval(() => socket.write('x'), 50);
      socket.once('close', () => clearInterval(trickle));
    };

    await expect(get()).rejects.toThrow();
    expect((await getSigned()).status).toBe(504);
  });

  test('after it received a POST does not get the request again', async () => {
    answer = (socket) => socket.destroy();
    const before = connections;
    const reply = await send(booted.port, '/device-instance', {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Length': '2' },
      body: '{}',
    });

    expect([reply.status, reply.json.code]).toEqual([502, 'bad_gateway']);
    expect(connections - before).toBe(1);
  });

  test.each([
    ['an invalid status line', 'HTP/1.1 OK\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    ['more than it announced', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n'],
    ['a chunk of no size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n'],
    ['an upgrade', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'],
  ])('with %s leads to a 502', async (_name, bytes) => {
    answer = (socket) => socket.end(bytes);

    expect((await get()).status).toBe(502);
  });

  const kinds = {
    none: { method: 'GET', path: '/api/device' },
    small: { method: 'POST', path: '/device-instance', body: '{}' },
    large: { method: 'POST', path: '/device-instance', body: `"${'x'.repeat(200_000)}"` },
    stream: { method: 'GET', path: '/events' },
  };
  test.each(
    Object.entries(kinds).flatMap(([kind, request]) =>
      [
        ['gzip, chunked', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
        ['status 999', 'HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n'],
        [
          'chunks and a length',
          'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
        ],
        ['a bare LF', 'HTTP/1.1 200 OK\nContent-Length: 2\n\n{}'],
        // The connections of the other kinds serve one request, so nothing can follow a reply.
        ...(kind === 'none' || kind === 'small'
          ? [
              ['surplus bytes', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}{}'],
              ['a tab in its length', 'HTTP/1.1 200 OK\r\nContent-Length:\t2\r\n\r\n{}'],
            ]
          : []),
      ].map(([name, bytes]) => [name ?? '', kind, bytes ?? '', request] as const),
    ),
  )('with %s leads to a 502 for a request of kind %s', async (_name, _kind, bytes, request) => {
    answer = (socket) => socket.write(bytes);
    const { method, path } = request;
    const body = 'body' in request ? { body: request.body } : {};
    const reply = await send(booted.port, path, {
      method,
      ...body,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    });

    expect([reply.status, reply.json.code]).toEqual([502, 'bad_gateway']);
  });

  test('with fewer bytes than announced breaks the connection of the caller', async () => {
    answer = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf');
      setTimeout(() => socket.end(), 100);
    };

    await expect(get()).rejects.toThrow();
  });

  test('in the middle of a body leads to a signed 502, not to a signature over half of it', async () => {
    answer = (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf');
    const reply = await getSigned();

    expect([reply.status, reply.json.code]).toEqual([502, 'bad_gateway']);
    expect(reply.headers).toHaveProperty('x-sign');
  });

  test('on every connection makes the gateway reject the rest with 503 and Retry-After', async () => {
    answer = () => {};
    const hanging = [get(), get(), get()];
    const shed = await get();

    expect([shed.status, shed.json.code]).toEqual([503, 'service_unavailable']);
    expect(shed.headers['retry-after']).toBe('1');
    expect((await Promise.all(hanging)).map(({ status }) => status)).toEqual([504, 504, 504]);
  });

  test.each([401, 407])(
    'by rejecting the internal token with %d leads to a 502',
    async (status) => {
      answer = (socket) => socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 2\r\n\r\n{}`);

      expect((await get()).status).toBe(502);
    },
  );

  test('may send 103 before its answer', async () => {
    answer = (socket) =>
      socket.end(
        'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}',
      );
    const reply = await get();

    expect([reply.status, reply.body.toString()]).toEqual([200, '{}']);
  });
});
