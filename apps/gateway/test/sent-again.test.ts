import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createServer as createTlsServer,
  getCACertificates,
  setDefaultCACertificates,
  TLSSocket,
} from 'node:tls';
import { makeCertificate } from '@gatehouse/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Exchange } from '../src/upstream/connection.ts';
import { ConnectionPool } from '../src/upstream/connection-pool.ts';
import { type BootedGateway, bootGateway } from './booted-gateway.ts';
import { send } from './http-client.ts';

const whole = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** The ways in which the service ends a connection when a second request arrives. */
const endings: readonly [name: string, end: (socket: Socket) => void][] = [
  ['closes it', (socket) => socket.end()],
  [
    'resets it',
    (socket) => (socket instanceof TLSSocket ? socket.destroy() : socket.resetAndDestroy()),
  ],
];

describe.each(['http', 'https'])('a service over %s that closes an idle connection', (scheme) => {
  let directory: string;
  let tls: { cert: Buffer; key: Buffer } | undefined;
  let authorities: string[];

  beforeAll(() => {
    authorities = getCACertificates('default');
    if (scheme === 'https') {
      directory = mkdtempSync(join(tmpdir(), 'upstream-'));
      const made = makeCertificate(directory, ['localhost']);
      setDefaultCACertificates([...authorities, made.authority]);
      tls = { cert: readFileSync(made.certificateFile), key: readFileSync(made.keyFile) };
    }
  });
  afterAll(() => {
    if (tls !== undefined) {
      setDefaultCACertificates(authorities);
      rmSync(directory, { recursive: true });
    }
  });

  let service: Server;
  let sockets: Socket[];
  /** The received texts by connection. */
  let received: string[][];
  let answer: (socket: Socket, count: number) => void;
  let pool: ConnectionPool;

  beforeEach(async () => {
    sockets = [];
    received = [];
    const onConnection = (socket: Socket) => {
      const requests: string[] = [];
      sockets.push(socket);
      received.push(requests);
      socket.on('error', () => {});
      socket.on('data', (data) => {
        requests.push(data.toString('latin1'));
        answer(socket, requests.length);
      });
    };
    service = tls === undefined ? createServer(onConnection) : createTlsServer(tls, onConnection);
    service.on('tlsClientError', () => {});
    await new Promise<void>((resolve) => service.listen(0, 'localhost', resolve));
    const { port } = service.address() as { port: number };
    pool = new ConnectionPool({
      url: new URL(`${scheme}://localhost:${port}`),
      connections: 1,
      connectTimeoutMilliseconds: 2000,
    });
  });
  afterEach(async () => {
    await pool.close();
    for (const socket of sockets) {
      socket.destroy();
    }
    service.close();
  });

  function ask(method: string, body?: Exchange['request']['body']): Promise<string> {
    return new Promise((resolve, reject) => {
      let text = '';
      pool.send({
        request: { method, path: '/', headers: [], body },
        onRequestStart: () => {},
        onResponseHead: () => {},
        onResponseData: (_controller, chunk) => {
          text += chunk.toString('latin1');
        },
        onResponseEnd: () => resolve(text),
        onResponseError: (_controller, error) => reject(error),
      });
    });
  }

  const requestCount = () => received.flat().length;

  test.each(endings)('gets a GET again if it %s without sending a byte', async (_name, end) => {
    answer = (socket, count) => (count === 1 ? socket.write(whole('{}')) : end(socket));
    await ask('GET');

    expect(await ask('GET')).toBe('{}');
    expect(received.map(({ length }) => length)).toEqual([2, 1]);
  });

  test('gets a HEAD again', async () => {
    answer = (socket, count) => (count === 1 ? socket.write(whole('')) : socket.end());
    await ask('GET');

    expect(await ask('HEAD')).toBe('');
    expect(received.map(([, last]) => last?.slice(0, 4))).toEqual(['HEAD', undefined]);
  });

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    'never gets a %s twice',
    async (method) => {
      answer = (socket, count) => (count === 1 ? socket.write(whole('{}')) : socket.end());
      await ask('GET');

      await expect(ask(method)).rejects.toThrow();
      expect(requestCount()).toBe(2);
    },
  );

  test('never gets a GET with a body twice', async () => {
    answer = (socket, count) => (count === 1 ? socket.write(whole('{}')) : socket.end());
    await ask('GET');

    await expect(ask('GET', Buffer.from('{}'))).rejects.toThrow();
    expect(sockets).toHaveLength(1);
  });

  test.each(endings)('gets no request twice on a new connection if it %s', async (_name, end) => {
    answer = (socket) => end(socket);

    await expect(ask('GET')).rejects.toThrow();
    expect(requestCount()).toBe(1);
  });

  test('gets no request a third time', async () => {
    answer = (socket, count) =>
      count === 1 && sockets.length === 1 ? socket.write(whole('{}')) : socket.end();
    await ask('GET');

    await expect(ask('GET')).rejects.toThrow();
    expect(received.map(({ length }) => length)).toEqual([2, 1]);
  });

  test('gets no request twice after the first byte of its reply', async () => {
    answer = (socket, count) => (count === 1 ? socket.write(whole('{}')) : socket.end('H'));
    await ask('GET');

    await expect(ask('GET')).rejects.toThrow();
    expect(requestCount()).toBe(2);
  });

  test('gets no request twice if the caller cancels', async () => {
    answer = (socket, count) => (count === 1 ? socket.write(whole('{}')) : undefined);
    await ask('GET');
    const canceled = new Promise((_resolve, reject) => {
      pool.send({
        request: { method: 'GET', path: '/', headers: [], body: undefined },
        onRequestStart: (controller) => {
          setTimeout(() => controller.abort(new Error('The caller left.')), 30);
        },
        onResponseHead: () => {},
        onResponseData: () => {},
        onResponseEnd: () => {},
        onResponseError: (_controller, error) => reject(error),
      });
    });

    await expect(canceled).rejects.toThrow('The caller left.');
    const [used] = sockets;
    if (used?.closed === false) {
      await once(used, 'close');
    }
    expect(requestCount()).toBe(2);
  });
});

describe('a gateway whose service closes each idle connection early', () => {
  let service: Server;
  let booted: BootedGateway;
  let answered = 0;

  beforeAll(async () => {
    service = createServer((socket) => {
      let requests = 0;
      socket.on('error', () => {});
      socket.on('data', (data) => {
        requests += 1;
        if (data.toString('latin1').startsWith('GET') && requests < 3) {
          answered += 1;
          socket.write(whole('{}'));
        } else if (data.toString('latin1').startsWith('POST') && requests === 1) {
          socket.write(whole('{}'));
        } else {
          // Simulates a close that crosses the next request.
          socket.destroy();
        }
      });
    });
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
    const { port } = service.address() as { port: number };
    booted = await bootGateway({ deviceServiceUrl: `http://127.0.0.1:${port}` });
  });
  afterAll(async () => {
    await booted.close();
    service.close();
  });

  test('answers 1000 GETs, each from one reply of the service', async () => {
    const token = await booted.issueToken();
    const statuses: number[] = [];
    const worker = async () => {
      for (let count = 0; count < 125; count += 1) {
        const { status } = await send(booted.port, '/api/device', {
          headers: { Authorization: `Bearer ${token}` },
        });
        statuses.push(status);
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));

    expect(statuses).toEqual(Array(1000).fill(200));
    expect(answered).toBe(1000);
  });

  test('answers 502 to a POST on a closed connection', async () => {
    const token = await booted.issueToken();
    const statuses: number[] = [];
    for (let count = 0; count < 6; count += 1) {
      const { status } = await send(booted.port, '/device-instance', {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: '{}',
      });
      statuses.push(status);
    }
    expect(statuses.filter((status) => status === 502).length).toBeGreaterThanOrEqual(3);
  });
});
