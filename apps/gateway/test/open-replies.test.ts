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
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { deviceRoutes, type Route } from '../src/routes/route.ts';
import type { BootedGateway } from './booted-gateway.ts';
import { sendRaw } from './http-client.ts';
import { bootSuiteGateway, openGateway } from './suite-gateway.ts';

const open: Route = {
  operation: 'events',
  method: 'GET',
  path: '/events',
  scope: 'device:read',
  resource: undefined,
  roles: ['support'],
  claims: [],
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
  ...{ operation: 'socket', path: '/socket', streaming: false, webSocket: true },
};

/** The upgrade requests that reached the service. */
let upgrades: IncomingMessage[] = [];
const sockets = createServer((_request, response) => response.writeHead(404).end());
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
await once(sockets.listen(0, '127.0.0.1'), 'listening');
const { port: servicePort } = sockets.address() as AddressInfo;

const streaming = await bootSuiteGateway({ routes: [...deviceRoutes, open] });
const upgrading = await openGateway({
  routes: [open, socketRoute],
  deviceServiceUrl: `http://127.0.0.1:${servicePort}`,
});
afterAll(() => {
  sockets.closeAllConnections();
  sockets.close();
});
let headers: Record<string, string>;
let userId = '';

/** A token of a user with the role. */
async function newToken({ identity, issueToken }: BootedGateway): Promise<string> {
  const { users } = identity;
  ({ userId } =
    (await users.findByUsername('agent')) ??
    (await users.ensure({
      username: 'agent',
      name: 'Agent',
      orgId: 'org-1',
      password: 'a password',
    })));
  await users.update(userId, (user) => ({ ...user, roles: ['support'] }));
  return issueToken({ accountId: userId });
}
const bearer = async (gateway: BootedGateway) => ({
  Authorization: `Bearer ${await newToken(gateway)}`,
});
beforeEach(() => {
  upgrades = [];
});

/** What ends the permission of an open reply or connection. */
const endings: readonly [name: string, end: (gateway: BootedGateway) => Promise<void>][] = [
  [
    'its credential is revoked',
    ({ identity }) => {
      const token = headers.Authorization?.slice('Bearer '.length) ?? '';
      return identity.store.delete([credentialKey('AccessToken', identity.credentialHash(token))]);
    },
  ],
  ['its client loses the scope', (gateway) => gateway.saveClient({ scopes: ['device:write'] })],
  [
    'its user loses the role',
    async ({ identity }) => {
      await identity.users.update(userId, (user) => ({ ...user, roles: [] }));
    },
  ],
];

function listen(): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const at = { host: '127.0.0.1', port: streaming.port, path: '/events', agent: false };
    const accept = { ...headers, Accept: 'text/event-stream' };
    get({ ...at, headers: accept }, resolve).on('error', reject);
  });
}

/** Lets the service answer with a stream that the test writes to. */
function answerWithEvents() {
  const begun = Promise.withResolvers<ServerResponse>();
  const ended = Promise.withResolvers<void>();
  streaming.upstream.answerWith((_request, response) => {
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
  beforeEach(async () => {
    headers = await bearer(streaming);
  });

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

  test.each(endings)('is closed soon after %s', async (_name, end) => {
    const { ended, exchange } = answerWithEvents();
    const reply = await listen();
    const closed = new Promise((resolve) => reply.on('error', () => {}).once('close', resolve));
    await exchange('data: 1\n\n', reply);
    try {
      await end(streaming);
      reply.resume();
      await Promise.all([closed, ended]);
      expect(reply.complete).toBe(false);
    } finally {
      await streaming.saveClient({});
    }
  });

  test('is not available to signed requests, because it cannot be signed', async () => {
    const reply = await streaming.send('/events', { headers: streaming.signed() });
    expect([reply.status, reply.json.code]).toEqual([401, 'unauthorized']);
  });

  test('must begin before the deadline', async () => {
    streaming.upstream.answerWith(() => {});
    const reply = await streaming.send('/events', { headers });
    expect([reply.status, reply.json.code]).toEqual([504, 'timeout']);
  });
});

describe('an upgrade', () => {
  const { port } = upgrading;
  beforeEach(async () => {
    headers = await bearer(upgrading);
  });

  function handshake(path: string, sent: Record<string, string> = headers) {
    const offer = {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    };
    const at = { host: '127.0.0.1', port, path, agent: false, headers: { ...offer, ...sent } };
    return new Promise<{ reply: IncomingMessage; socket?: Duplex }>((resolve, reject) => {
      sendRequest(at)
        .on('upgrade', (reply, socket) => resolve({ reply, socket: socket.on('error', () => {}) }))
        .on('response', (reply) => resolve({ reply: reply.resume() }))
        .on('error', reject)
        .end();
    });
  }

  test('to websocket reaches the service on a route that allows it, after verification', async () => {
    const { reply, socket } = await handshake('/socket?a=1', { ...headers, 'X-User-Id': 'admin' });
    expect(reply.statusCode).toBe(101);
    expect(reply.headers['sec-websocket-accept']).toBe('s3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
    expect(reply.headers).not.toHaveProperty('x-secret');
    expect(upgrades[0]?.url).toBe('/socket?a=1');
    expect(upgrades[0]?.headers.authorization).toMatch(/^Bearer ey/);
    expect(upgrades[0]?.headers).not.toHaveProperty('x-user-id');
    socket?.write('hello');
    expect(String((await once(socket as Duplex, 'data'))[0])).toBe('hello');
    socket?.destroy();
    await until(() => upgrading.log().includes('"msg":"GET socket 101"'));
  });

  test('accepts the token of a browser in the query and does not forward it', async () => {
    const token = await newToken(upgrading);
    const { reply, socket } = await handshake(`/socket?access_token=${token}&a=1`, {});
    expect(reply.statusCode).toBe(101);
    expect(upgrades[0]?.url).toBe('/socket?a=1');
    socket?.destroy();
  });

  test.each(endings)('is closed soon after %s', async (_name, end) => {
    const { socket } = await handshake('/socket');
    const closed = new Promise((resolve) => socket?.once('close', resolve));
    try {
      await end(upgrading);
      socket?.resume();
      await closed;
    } finally {
      await upgrading.saveClient({});
    }
  });

  test.each<[string, string, () => Record<string, string>, number]>([
    ['without a credential', '/socket', () => ({}), 401],
    ['with a bad credential', '/socket', () => ({ Authorization: 'Bearer unknown' }), 401],
    ['with a signature', '/socket', () => upgrading.signed(), 401],
    ['on a route that does not allow it', '/events', () => headers, 400],
    ['on an unknown route', '/none', () => headers, 400],
    ['to HTTP/2', '/socket', () => ({ ...headers, Upgrade: 'h2c' }), 404],
    ['to another protocol', '/socket', () => ({ ...headers, Upgrade: 'h2' }), 400],
    ['with a body encoding', '/socket', () => ({ ...headers, 'Content-Encoding': 'gzip' }), 415],
    ['that the service rejects', '/socket?refuse', () => headers, 403],
  ])('%s is rejected', async (_name, path, sent, status) => {
    expect((await handshake(path, sent())).reply.statusCode).toBe(status);
    expect(upgrades.length).toBe(path.includes('refuse') ? 1 : 0);
  });

  test('closes the connection of a rejected handshake and tolerates a caller that leaves at once', async () => {
    const offer =
      'GET /socket HTTP/1.1\r\nHost: g\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n';
    const reply = await sendRaw(port, `${offer}\r\n`);
    expect(reply).toMatch(/^HTTP\/1\.1 401 .*connection: close/is);
    for (let count = 0; count < 20; count += 1) {
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      socket.write(`${offer}Authorization: ${headers.Authorization}\r\n\r\n`);
      await sleep(count % 4);
      socket.destroy();
    }
    const { reply: next, socket } = await handshake('/socket');
    expect(next.statusCode).toBe(101);
    socket?.destroy();
  });
});
