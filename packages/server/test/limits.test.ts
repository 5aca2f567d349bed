import type { RequestListener } from 'node:http';
import { until } from '@gatehouse/testing';
import { afterAll, describe, expect, test } from '@jest/globals';
import { createLogger, createMetricsRegistry, type RunningServer, serve } from '../src/index.ts';
import { createOperations, serveOperations } from '../src/server/operations.ts';
import { serverLimits } from '../src/server/server-limits.ts';
import { openRawConnection, type RawConnection } from './raw-connection.ts';

const local = { host: '127.0.0.1', port: 0 } as const;
const servers: RunningServer[] = [];

async function start(
  listener: RequestListener,
  options: Partial<Parameters<typeof serve>[1]> = {},
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

  test.each([101, 102, 400])('with %d is rejected, never read in part', async (count) => {
    const connection = openRawConnection((await start(countHeaders)).port);
    connection.send(requestWith(count));
    const reply = await connection.ended();
    expect(reply).toMatch(/^HTTP\/1\.1 431 .*connection: close.*headers_too_large/is);
    expect(reply).not.toContain('100 headers');
  });

  test('is checked before an upgrade', async () => {
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
    await until(() => opened.every(isOver));
    const count = opened.filter(({ received }) => received().endsWith('done')).length;
    for (const { socket } of opened) {
      socket.destroy();
    }
    return count;
  }

  test('is limited, and the log reports once how many were closed', async () => {
    const lines: string[] = [];
    const logger = createLogger({
      app: 'gateway',
      level: 'warn',
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
    await until(() => open() <= limit);
    expect(open()).toBe(limit);
    for (const { socket } of opened) {
      socket.destroy();
    }
  });
});
