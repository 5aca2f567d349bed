// requires: openssl

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import {
  createServer as createTlsServer,
  getCACertificates,
  setDefaultCACertificates,
  TLSSocket,
} from 'node:tls';
import { makeCertificate, repetitions } from '@gatehouse/testing';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Exchange } from '../src/upstream/connection.ts';
import { ConnectionPool } from '../src/upstream/connection-pool.ts';
import { ask, type RawService, startRawService, whole } from './raw-service.ts';
import { openGateway } from './suite-gateway.ts';

const directory = temporaryFolder();
const made = makeCertificate(directory, ['localhost']);
const tls = { cert: readFileSync(made.certificateFile), key: readFileSync(made.keyFile) };
const authorities = getCACertificates('default');
setDefaultCACertificates([...authorities, made.authority]);
afterAll(() => {
  setDefaultCACertificates(authorities);
});

/** The ways in which the service ends a connection when a second request arrives. */
const endings: readonly [name: string, end: (socket: Socket) => unknown][] = [
  ['closes it', (socket) => socket.end()],
  [
    'resets it',
    (socket) => (socket instanceof TLSSocket ? socket.destroy() : socket.resetAndDestroy()),
  ],
];

describe.each([
  ['http', createServer],
  ['https', (onConnection: (socket: Socket) => void) => createTlsServer(tls, onConnection)],
] as const)('a service over %s that closes an idle connection', (scheme, createListener) => {
  let service: RawService;
  let pool: ConnectionPool;

  beforeEach(async () => {
    service = await startRawService(createListener, 'localhost');
    pool = new ConnectionPool({
      url: new URL(`${scheme}://${service.url.host}`),
      connections: 1,
      connectTimeoutMilliseconds: 2000,
    });
    endLater((socket) => socket.end());
  });
  afterEach(async () => {
    await pool.close();
    service.close();
  });

  /** The first request of a connection gets a reply, and the next one ends the connection. */
  function endLater(end: (socket: Socket) => unknown): void {
    service.answer = (socket, _request, number) =>
      number === 1 ? socket.write(whole('{}')) : end(socket);
  }

  /** The second exchange on the connection. */
  async function askNext(request: Partial<Exchange['request']> = {}): Promise<string> {
    await ask(pool);
    return (await ask(pool, request)).body;
  }

  test.each(endings)('gets a GET again if it %s without sending a byte', async (_name, end) => {
    endLater(end);
    expect(await askNext()).toBe('{}');
    expect([service.requests.length, service.sockets.length]).toEqual([3, 2]);
  });

  test('gets a HEAD again', async () => {
    expect(await askNext({ method: 'HEAD' })).toBe('');
    expect(service.requests.map((text) => text.slice(0, 4))).toEqual(['GET ', 'HEAD', 'HEAD']);
  });

  test.each<Partial<Exchange['request']>>([
    ...['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].map((method) => ({ method })),
    { body: Buffer.from('{}') },
  ])('never gets a request twice if it is %j', async (request) => {
    await expect(askNext(request)).rejects.toThrow();
    expect(service.sockets).toHaveLength(1);
  });

  test.each(endings)('gets no request twice on a new connection if it %s', async (_name, end) => {
    service.answer = (socket) => end(socket);
    await expect(ask(pool)).rejects.toThrow();
    expect(service.requests).toHaveLength(1);
  });

  test('gets no request a third time', async () => {
    service.answer = (socket, _request, number) =>
      number === 1 && service.sockets.length === 1 ? socket.write(whole('{}')) : socket.end();
    await expect(askNext()).rejects.toThrow();
    expect([service.requests.length, service.sockets.length]).toEqual([3, 2]);
  });

  test('gets no request twice after the first byte of its reply', async () => {
    endLater((socket) => socket.end('H'));
    await expect(askNext()).rejects.toThrow();
    expect(service.requests).toHaveLength(2);
  });

  test('gets no request twice if the caller cancels', async () => {
    endLater(() => undefined);
    await ask(pool);
    const canceled = ask(
      pool,
      {},
      {
        onRequestStart: (controller) =>
          void setTimeout(() => controller.abort(new Error('The caller left.')), 30),
      },
    );
    await expect(canceled).rejects.toThrow('The caller left.');
    const [used] = service.sockets;
    if (used?.closed === false) {
      await once(used, 'close');
    }
    expect(service.sockets).toHaveLength(1);
  });
});

test('A gateway answers GETs of a service that closes idle connections early, and 502 to POSTs.', async () => {
  const service = await startRawService();
  let answered = 0;
  service.answer = (socket, request, number) => {
    if (number < (request.startsWith('GET') ? 3 : 2)) {
      answered += 1;
      socket.write(whole('{}'));
    } else {
      // Simulates a close that crosses the next request.
      socket.destroy();
    }
  };
  const gateway = await openGateway({ deviceServiceUrl: service.url.origin });
  const headers = await gateway.bearer();
  const statuses: number[] = [];
  const total = repetitions(1600);
  const worker = async () => {
    for (let count = 0; count < total / 8; count += 1) {
      statuses.push((await gateway.send('/api/device', { headers })).status);
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  expect(statuses).toEqual(Array(total).fill(200));
  expect(answered).toBe(total);

  let rejected = 0;
  for (let count = 0; count < 6; count += 1) {
    const sent = { method: 'POST', headers, body: '{}' };
    rejected += (await gateway.send('/device-instance', sent)).status === 502 ? 1 : 0;
  }
  expect(rejected).toBeGreaterThanOrEqual(3);
  service.close();
});
