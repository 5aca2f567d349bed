import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from '@jest/globals';
import {
  createLogger,
  createMetricsRegistry,
  createOperations,
  type ListenOptions,
  type RunningServer,
  serve,
  serveOperations,
  serverLimits,
} from '../src/index.ts';
import { cutSlowReaders } from '../src/server/slow-readers.ts';
import { openRawConnection, type RawConnection } from './raw-connection.ts';

const MEBIBYTE = 1024 * 1024;
const local = { host: '127.0.0.1', port: 0 } as const;
const servers: RunningServer[] = [];

async function start(
  listener: RequestListener,
  options: Partial<ListenOptions> = {},
): Promise<RunningServer> {
  const server = await serve(listener, { ...local, drainMilliseconds: 200, ...options });
  servers.push(server);
  return server;
}

afterAll(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const requestWith = (headers: number) =>
  `GET / HTTP/1.1\r\nHost: test\r\n${Array.from({ length: headers - 1 }, (_, i) => `a${i}: b\r\n`).join('')}\r\n`;

describe('the number of headers', () => {
  const countHeaders: RequestListener = (request, response) =>
    response.end(`${request.rawHeaders.length / 2} headers`);

  test('GW-29 can be one hundred, and the listener receives all of them', async () => {
    const connection = openRawConnection((await start(countHeaders)).port);
    connection.send(requestWith(serverLimits.maxHeadersCount));
    expect(await connection.until('headers')).toMatch(/^HTTP\/1\.1 200 .*100 headers$/s);
    connection.socket.destroy();
  });

  test.each([101, 102, 400])('GW-29 with %d is rejected, never read in part', async (count) => {
    const connection = openRawConnection((await start(countHeaders)).port);
    connection.send(requestWith(count));
    const reply = await connection.ended();
    expect(reply).toMatch(/^HTTP\/1\.1 431 .*connection: close.*headers_too_large/is);
    expect(reply).not.toContain('100 headers');
  });

  test('GW-29 is checked before an upgrade', async () => {
    let upgraded = false;
    const handle = () => {
      upgraded = true;
    };
    const upgrades = { accepts: () => true, handle };
    const connection = openRawConnection((await start(countHeaders, { upgrades })).port);
    connection.send(
      requestWith(101).replace('Host: test', 'Host: test\r\nConnection: upgrade\r\nUpgrade: a'),
    );
    expect(await connection.ended()).toMatch(/^HTTP\/1\.1 431 /);
    expect(upgraded).toBe(false);
  });
});

describe('the number of connections', () => {
  const ok: RequestListener = (_request, response) => response.end('done');
  const GET = 'GET / HTTP/1.1\r\nHost: test\r\n\r\n';

  async function served(port: number, connections: number): Promise<number> {
    const opened = Array.from({ length: connections }, () => openRawConnection(port));
    for (const connection of opened) {
      connection.send(GET);
    }
    const isOver = ({ socket, received }: RawConnection) =>
      socket.destroyed || received().endsWith('done');
    while (!opened.every(isOver)) {
      await sleep(5);
    }
    const count = opened.filter(({ received }) => received().endsWith('done')).length;
    for (const { socket } of opened) {
      socket.destroy();
    }
    return count;
  }

  test('GW-32 is limited, and the log reports once how many were closed', async () => {
    const lines: string[] = [];
    const logger = createLogger({
      app: 'gateway',
      level: 'warn',
      pretty: false,
      destination: { write: (line) => lines.push(line) },
    });
    const server = await start(ok, { maximumConnections: 10, logger });
    expect(await served(server.port, 30)).toBe(10);
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ msg: 'too many connections', dropped: 1, limit: 10 }),
    ]);
  });

  test('is limited at the operations port', async () => {
    const operations = createOperations({ metrics: createMetricsRegistry(), checks: {} });
    const server = await serveOperations(operations, local);
    servers.push(server);
    const { operationsMaxConnections: limit } = serverLimits;
    const opened = Array.from({ length: limit + 20 }, () => openRawConnection(server.port));
    const open = () => opened.filter(({ socket }) => !socket.destroyed).length;
    const deadline = Date.now() + 4000;
    while (open() > limit && Date.now() < deadline) {
      await sleep(5);
    }
    expect(open()).toBe(limit);
    for (const { socket } of opened) {
      socket.destroy();
    }
  });
});

describe('GW-30 a peer that reads slowly', () => {
  const running: Server[] = [];
  afterAll(() => {
    for (const server of running) {
      server.closeAllConnections();
      server.close();
    }
  });

  /** A server with short limits that sends the same complete reply to each peer. */
  async function replyWith(bytes: number) {
    const server = createServer((_request, response) => response.end(Buffer.alloc(bytes)));
    cutSlowReaders(server, {
      replyGrace: 600,
      replyBytesPerSecond: 64 * MEBIBYTE,
      connectionsCheckingInterval: 50,
    });
    running.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const connection = openRawConnection((server.address() as AddressInfo).port);
    const asked = once(server, 'request');
    connection.send('GET / HTTP/1.1\r\nHost: test\r\n\r\n');
    await asked;
    const count = () =>
      new Promise<number>((resolve) =>
        server.getConnections((_error, connections) => resolve(connections)),
      );
    return { connection, count };
  }

  async function untilCut(count: () => Promise<number>): Promise<number> {
    const started = performance.now();
    while ((await count()) > 0) {
      expect(performance.now() - started).toBeLessThan(15_000);
      await sleep(10);
    }
    return performance.now() - started;
  }

  test.concurrent('and reads nothing is disconnected when the time is over, but not earlier', async () => {
    const { connection, count } = await replyWith(32 * MEBIBYTE);
    connection.socket.pause();
    const lasted = await untilCut(count);
    expect(lasted).toBeGreaterThan(600);
  });

  test.concurrent('and occasionally reads a little is also disconnected', async () => {
    const { connection, count } = await replyWith(32 * MEBIBYTE);
    connection.socket.pause();
    const drip = setInterval(() => connection.socket.read(100), 50);
    const lasted = await untilCut(count);
    clearInterval(drip);
    expect(lasted).toBeGreaterThan(600);
  });

  test('but steadily receives its complete reply', async () => {
    const server = createServer(async (_request, response) => {
      for (let chunk = 0; chunk < 40; chunk += 1) {
        if (!response.write(Buffer.alloc(MEBIBYTE))) {
          await new Promise((resolve) => response.once('drain', resolve));
        }
      }
      response.end('the end');
    });
    cutSlowReaders(server, {
      replyGrace: 4000,
      replyBytesPerSecond: 64 * MEBIBYTE,
      connectionsCheckingInterval: 50,
    });
    running.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { socket, send } = openRawConnection((server.address() as AddressInfo).port);
    send('GET / HTTP/1.1\r\nHost: test\r\n\r\n');
    let received = 0;
    socket.removeAllListeners('data');
    socket.on('data', (data) => {
      received += data.length;
      socket.pause();
      setTimeout(() => socket.resume(), 8);
    });
    const started = performance.now();
    while (received < 40 * MEBIBYTE && !socket.destroyed) {
      await sleep(10);
    }
    expect(received).toBeGreaterThan(40 * MEBIBYTE);
    expect(performance.now() - started).toBeGreaterThan(4500);
    socket.destroy();
  });

  test.concurrent('is not an idle peer', async () => {
    const { connection, count } = await replyWith(1000);
    await connection.until(/\0$/);
    await sleep(1000);
    expect(await count()).toBe(1);
    connection.socket.destroy();
  });
});
