import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  get,
  type IncomingMessage,
  type ServerResponse,
  request as sendRequest,
} from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { credentialKey } from '@gatehouse/identity';
import { until } from '@gatehouse/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Route } from '../src/routes/route.ts';
import { deviceRoutes } from '../src/routes/route.ts';
import { type BootedGateway, bootGateway, closeUnharmed } from './booted-gateway.ts';
import { send, sendRaw } from './http-client.ts';

const open: Route = {
  operation: 'events',
  method: 'GET',
  path: '/events',
  scope: 'device:read',
  credentials: ['access-token', 'bearer'],
  upstream: 'device-service',
  timeoutMilliseconds: 1000,
  bodyLimitBytes: 1024,
  requestHeaders: [],
  rateLimit: undefined,
  streaming: true,
  webSocket: false,
};
const socketRoute: Route = {
  ...open,
  operation: 'socket',
  path: '/socket',
  streaming: false,
  webSocket: true,
};

let booted: BootedGateway;
let token: string;
let sockets: ReturnType<typeof createServer>;
/** The upgrade requests that reached the service. */
let upgrades: IncomingMessage[] = [];

beforeAll(async () => {
  sockets = createServer((_request, response) => response.writeHead(404).end());
  sockets.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    upgrades.push(request);
    if (request.url?.includes('refuse')) {
      socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
        `Sec-WebSocket-Accept: ${createHash('sha1').update(key).digest('base64')}\r\n` +
        'X-Secret: internal\r\n\r\n',
    );
    socket.on('error', () => {});
    socket.pipe(socket);
  });
  await new Promise<void>((resolve) => sockets.listen(0, '127.0.0.1', resolve));
  booted = await bootGateway({
    routes: [...deviceRoutes, open, socketRoute],
  });
});
afterAll(async () => {
  await closeUnharmed(booted);
  sockets.closeAllConnections();
  sockets.close();
});
beforeEach(async () => {
  token = await booted.issueToken();
  upgrades = [];
});

function revoke(): Promise<void> {
  return booted.identity.store.delete([
    credentialKey('AccessToken', booted.identity.credentialHash(token)),
  ]);
}

function listen(): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(
      {
        host: '127.0.0.1',
        port: booted.port,
        path: '/events',
        agent: false,
        headers: { Authorization: `Bearer ${token}`, Accept: 'text/event-stream' },
      },
      resolve,
    ).on('error', reject);
  });
}

/** Lets the service answer with a stream that the test writes to. */
function answerWithEvents() {
  const begun = Promise.withResolvers<ServerResponse>();
  const ended = Promise.withResolvers<void>();
  booted.upstream.answerWith((_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.flushHeaders();
    response.once('close', ended.resolve);
    begun.resolve(response);
  });
  return {
    ended: ended.promise,
    /** Sends an event, and returns the next data that the client receives. */
    async exchange(event: string, reply: IncomingMessage): Promise<string> {
      const received = once(reply, 'data');
      (await begun.promise).write(event);
      return String((await received)[0]);
    },
  };
}

describe('an open reply', () => {
  test('delivers events immediately, even after the deadline of the route', async () => {
    const { ended, exchange } = answerWithEvents();
    const reply = await listen();
    expect(reply.headers['content-type']).toBe('text/event-stream');
    expect(await exchange('data: 1\n\n', reply)).toBe('data: 1\n\n');
    await sleep(1.3 * open.timeoutMilliseconds);
    expect(await exchange('data: 2\n\n', reply)).toBe('data: 2\n\n');
    reply.destroy();
    await ended;
  });

  test('is closed soon after its credential is revoked', async () => {
    const { ended, exchange } = answerWithEvents();
    const reply = await listen();
    reply.on('error', () => {});
    await exchange('data: 1\n\n', reply);
    await revoke();
    reply.resume();
    await Promise.all([new Promise((resolve) => reply.once('close', resolve)), ended]);
    expect(reply.complete).toBe(false);
  });

  test('is closed soon after its client loses the scope', async () => {
    const { ended, exchange } = answerWithEvents();
    const reply = await listen();
    reply.on('error', () => {});
    await exchange('data: 1\n\n', reply);
    await booted.saveClient({ scopes: ['device:write'] });
    try {
      reply.resume();
      await Promise.all([new Promise((resolve) => reply.once('close', resolve)), ended]);
      expect(reply.complete).toBe(false);
    } finally {
      await booted.saveClient({});
    }
  });

  test('is not available to signed requests, because it cannot be signed', async () => {
    const reply = await send(booted.port, '/events', { headers: booted.signed() });
    expect([reply.status, reply.json.code]).toEqual([401, 'unauthorized']);
  });

  test('must begin before the deadline', async () => {
    booted.upstream.answerWith(() => {});
    const reply = await send(booted.port, '/events', {
      headers: { Authorization: `Bearer ${token}` },
    });
    expect([reply.status, reply.json.code]).toEqual([504, 'timeout']);
  });
});

describe('an upgrade', () => {
  let port: number;
  let gateway: BootedGateway;

  beforeAll(async () => {
    const { port: servicePort } = sockets.address() as AddressInfo;
    gateway = await bootGateway({
      routes: [open, socketRoute],
      deviceServiceUrl: `http://127.0.0.1:${servicePort}`,
    });
    port = gateway.port;
  });
  afterAll(() => gateway.close());

  function handshake(path: string, headers: Record<string, string>) {
    return new Promise<{ status: number; headers: unknown; socket?: Duplex }>((resolve, reject) => {
      const outgoing = sendRequest({
        host: '127.0.0.1',
        port,
        path,
        agent: false,
        headers: {
          Connection: 'Upgrade',
          Upgrade: 'websocket',
          'Sec-WebSocket-Version': '13',
          'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
          ...headers,
        },
      });
      outgoing.on('upgrade', (response, socket) =>
        resolve({ status: 101, headers: response.headers, socket }),
      );
      outgoing.on('response', (response) => {
        response.resume();
        resolve({ status: response.statusCode ?? 0, headers: response.headers });
      });
      outgoing.on('error', reject);
      outgoing.end();
    });
  }

  test('GW-25 to websocket reaches the service on a route that allows it, after verification', async () => {
    const own = await gateway.issueToken();
    const { status, headers, socket } = await handshake('/socket?a=1', {
      Authorization: `Bearer ${own}`,
      'X-User-Id': 'admin',
    });
    expect(status).toBe(101);
    expect(headers).toMatchObject({ 'sec-websocket-accept': 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=' });
    expect(headers).not.toHaveProperty('x-secret');
    expect(upgrades[0]?.url).toBe('/socket?a=1');
    expect(upgrades[0]?.headers.authorization).toMatch(/^Bearer ey/);
    expect(upgrades[0]?.headers).not.toHaveProperty('x-user-id');
    socket?.write('hello');
    const [echo] = (await once(socket as Duplex, 'data')) as [Buffer];
    expect(echo.toString()).toBe('hello');
    socket?.destroy();
    await until(() => gateway.log().includes('"msg":"GET socket 101"'));
  });

  test('GW-25 accepts the token of a browser in the query and does not forward it', async () => {
    const own = await gateway.issueToken();
    const { status, socket } = await handshake(`/socket?access_token=${own}&a=1`, {});
    expect(status).toBe(101);
    expect(upgrades[0]?.url).toBe('/socket?a=1');
    socket?.destroy();
  });

  test('is closed soon after its credential is revoked', async () => {
    const own = await gateway.issueToken();
    const { socket } = await handshake('/socket', { Authorization: `Bearer ${own}` });
    const { store, credentialHash } = gateway.identity;
    await store.delete([credentialKey('AccessToken', credentialHash(own))]);
    socket?.on('error', () => {});
    socket?.resume();
    await new Promise((resolve) => socket?.once('close', resolve));
  });

  test('is closed soon after its client loses the scope', async () => {
    const own = await gateway.issueToken();
    const { socket } = await handshake('/socket', { Authorization: `Bearer ${own}` });
    await gateway.saveClient({ scopes: ['device:write'] });
    try {
      socket?.on('error', () => {});
      socket?.resume();
      await new Promise((resolve) => socket?.once('close', resolve));
    } finally {
      await gateway.saveClient({});
    }
  });

  test.each([
    ['without a credential', '/socket', {}, 401],
    ['with a bad credential', '/socket', { Authorization: 'Bearer unknown' }, 401],
    ['on a route that does not allow it', '/events', { Authorization: 'good' }, 400],
    ['on an unknown route', '/none', { Authorization: 'good' }, 400],
    ['to HTTP/2', '/socket', { Authorization: 'good', Upgrade: 'h2c' }, 404],
    ['to another protocol', '/socket', { Authorization: 'good', Upgrade: 'h2' }, 400],
    ['with a body encoding', '/socket', { Authorization: 'good', 'Content-Encoding': 'gzip' }, 415],
    ['that the service rejects', '/socket?refuse', { Authorization: 'good' }, 403],
  ])('GW-25 %s is rejected', async (_name, path, headers: Record<string, string>, status) => {
    const own = await gateway.issueToken();
    const sent =
      headers.Authorization === 'good' ? { ...headers, Authorization: `Bearer ${own}` } : headers;
    expect((await handshake(path, sent)).status).toBe(status);
    expect(upgrades.length).toBe(path.includes('refuse') ? 1 : 0);
  });

  test('GW-25 rejects a signed request', async () => {
    expect((await handshake('/socket', gateway.signed())).status).toBe(401);
    expect(upgrades).toEqual([]);
  });

  test('closes the connection of a rejected handshake and tolerates a caller that leaves at once', async () => {
    const reply = await sendRaw(
      port,
      'GET /socket HTTP/1.1\r\nHost: g\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    );
    expect(reply).toMatch(/^HTTP\/1\.1 401 .*connection: close/is);
    const own = await gateway.issueToken();
    for (let count = 0; count < 20; count += 1) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write(
        `GET /socket HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ${own}\r\n` +
          'Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
      );
      await sleep(count % 4);
      socket.destroy();
    }
    await sleep(100);
    expect((await handshake('/socket', { Authorization: `Bearer ${own}` })).status).toBe(101);
  });
});
