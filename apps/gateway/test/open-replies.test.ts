import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  get,
  type IncomingMessage,
  type ServerResponse,
  request as sendRequest,
} from 'node:http';
import { connect } from 'node:net';
import { type Duplex, PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { credentialKey } from '@gatehouse/identity';
import { until } from '@gatehouse/testing';
import { listenForTests } from '@gatehouse/testing/suite';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { deviceRoutes, type Route } from '../src/routes/route.ts';
import type { BootedGateway } from './booted-gateway.ts';
import { sendRaw } from './http-client.ts';
import { bootSuiteGateway, openGateway } from './suite-gateway.ts';

const events: Route = {
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
  ...events,
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

const streaming = await bootSuiteGateway({ routes: [...deviceRoutes, events] });
const upgrading = await openGateway({
  routes: [events, socketRoute],
  deviceServiceUrl: `http://127.0.0.1:${await listenForTests(sockets)}`,
});
let count = 0;
/** A new client, and a token of it for a new user with the role. */
async function newHolder(gateway: BootedGateway) {
  count += 1;
  const [clientId, username] = [`client-${count}`, `agent-${count}`];
  await gateway.saveClient({ clientId }, gateway.secureKey);
  const { userId } = await gateway.identity.users.ensure({
    ...{ username, name: 'Agent', orgId: 'org-1', password: 'a password' },
    roles: ['support'],
  });
  const token = await gateway.issueToken({ accountId: userId, clientId });
  return { gateway, clientId, userId, token, headers: { Authorization: `Bearer ${token}` } };
}
type Holder = Awaited<ReturnType<typeof newHolder>>;
beforeEach(() => {
  upgrades = [];
});

/** What ends the permission of an open reply or connection. */
const endings: Readonly<Record<string, (holder: Holder) => Promise<unknown>>> = {
  'its credential is revoked': ({ gateway: { identity }, token }) =>
    identity.store.delete([credentialKey('AccessToken', identity.credentialHash(token))]),
  'its client loses the scope': ({ gateway, clientId }) =>
    gateway.saveClient({ clientId, scopes: ['device:write'] }),
  'its user loses the role': ({ gateway, userId }) =>
    gateway.identity.users.update(userId, (user) => ({ ...user, roles: [] })),
};

function listen(headers: Record<string, string>): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const at = { host: '127.0.0.1', port: streaming.port, path: '/events', agent: false };
    const accept = { ...headers, Accept: 'text/event-stream' };
    get({ ...at, headers: accept }, resolve).on('error', reject);
  });
}

/** Lets the service answer with streams, which begin with an event. */
function answerWithEvents() {
  const open = new Set<ServerResponse>();
  streaming.upstream.answerWith((_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write('data: 1\n\n');
    open.add(response);
    response.once('close', () => open.delete(response));
  });
  return open;
}

test('Replies and upgrades are closed soon after their permission ends.', async () => {
  const streams = answerWithEvents();
  async function upgrade(headers: Record<string, string>) {
    const { socket = new PassThrough() } = await handshake('/socket', headers);
    socket.write('hello');
    return socket;
  }
  const open = new Set<string>();
  const kinds = [
    ['a reply', streaming, listen],
    ['an upgrade', upgrading, upgrade],
  ] as const;
  const cases = kinds.flatMap(([kind, gateway, start]) =>
    Object.entries(endings).map(([what, end]) => ({ kind, gateway, start, what, end })),
  );
  await Promise.all(
    cases.map(async ({ kind, gateway, start, what, end }) => {
      const holder = await newHolder(gateway);
      const stream = await start(holder.headers);
      await once(stream, 'data');
      open.add(`${kind}, when ${what}`);
      stream.on('error', () => {}).once('close', () => open.delete(`${kind}, when ${what}`));
      await end(holder);
      stream.resume();
    }),
  );
  await until(() => expect([...open]).toEqual([]));
  await until(() => streams.size === 0);
});

describe('an open reply', () => {
  test('delivers events immediately, even after the deadline of the route', async () => {
    const open = answerWithEvents();
    const reply = await listen((await newHolder(streaming)).headers);
    expect(reply.headers['content-type']).toBe('text/event-stream');
    expect(String((await once(reply, 'data'))[0])).toBe('data: 1\n\n');
    await sleep(1.3 * events.timeoutMilliseconds);
    const [response] = open;
    const received = once(reply, 'data');
    response?.write('data: 2\n\n');
    expect(String((await received)[0])).toBe('data: 2\n\n');
    reply.destroy();
    await until(() => open.size === 0);
  });

  test('is not available to signed requests, because it cannot be signed', async () => {
    const reply = await streaming.send('/events', { headers: streaming.signed() });
    expect([reply.status, reply.json.code]).toEqual([401, 'unauthorized']);
  });

  test('must begin before the deadline', async () => {
    streaming.upstream.answerWith(() => {});
    const { headers } = await newHolder(streaming);
    const reply = await streaming.send('/events', { headers });
    expect([reply.status, reply.json.code]).toEqual([504, 'timeout']);
  });
});

function handshake(path: string, sent: Record<string, string>) {
  const offer = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  };
  const at = { host: '127.0.0.1', port: upgrading.port, path, agent: false };
  return new Promise<{ reply: IncomingMessage; socket?: Duplex }>((resolve, reject) => {
    sendRequest({ ...at, headers: { ...offer, ...sent } })
      .on('upgrade', (reply, socket) => resolve({ reply, socket: socket.on('error', () => {}) }))
      .on('response', (reply) => resolve({ reply: reply.resume() }))
      .on('error', reject)
      .end();
  });
}

describe('an upgrade', () => {
  let headers: Record<string, string> = {};
  let token = '';
  beforeEach(async () => {
    ({ headers, token } = await newHolder(upgrading));
  });

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
    const { reply, socket } = await handshake(`/socket?access_token=${token}&a=1`, {});
    expect(reply.statusCode).toBe(101);
    expect(upgrades[0]?.url).toBe('/socket?a=1');
    socket?.destroy();
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
    const reply = await sendRaw(upgrading.port, `${offer}\r\n`);
    expect(reply).toMatch(/^HTTP\/1\.1 401 .*connection: close/is);
    for (let count = 0; count < 20; count += 1) {
      const socket = connect(upgrading.port, '127.0.0.1').on('error', () => {});
      socket.write(`${offer}Authorization: ${headers.Authorization}\r\n\r\n`);
      await sleep(count % 4);
      socket.destroy();
    }
    const { reply: next, socket } = await handshake('/socket', headers);
    expect(next.statusCode).toBe(101);
    socket?.destroy();
  });
});
