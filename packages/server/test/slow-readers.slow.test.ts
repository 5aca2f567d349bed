// runs alone: it compares times

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { listen } from '@gatehouse/testing';
import { afterAll, describe, expect, test } from '@jest/globals';
import { cutSlowReaders } from '../src/server/server-limits.ts';
import { openRawConnection } from './raw-connection.ts';

const MEBIBYTE = 1024 * 1024;

describe('a peer that reads slowly', () => {
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
    const connection = openRawConnection(await listen(server));
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
});
