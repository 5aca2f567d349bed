import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { until } from '@gatehouse/testing';
import { afterEach, describe, expect, test } from '@jest/globals';
import { bootSuiteGateway } from './suite-gateway.ts';

const CONNECTIONS = 4;
const MEBIBYTE = 1024 * 1024;
const gateway = await bootSuiteGateway({
  capacity: { connections: CONNECTIONS, streamConnections: CONNECTIONS, maximumRequests: 64 },
});
const headers = await gateway.bearer();
const slow: Socket[] = [];

afterEach(() => {
  for (const socket of slow.splice(0)) {
    socket.destroy();
  }
});

function open(text: string): Socket {
  const socket = connect(gateway.port, '127.0.0.1', () => socket.write(text));
  slow.push(socket.on('error', () => {}).resume());
  return socket;
}

const head = (target: string, more = '') =>
  `${target} HTTP/1.1\r\nHost: g\r\nAuthorization: ${headers.Authorization}\r\n${more}\r\n`;
const creation = (length: number) =>
  head('POST /device-instance', `Content-Type: application/json\r\nContent-Length: ${length}\r\n`);

/** Slow callers would make these requests fail with 503 or 504. */
async function answerOthers(): Promise<void> {
  const calls = Array.from({ length: 8 }, () => gateway.send('/api/device?small', { headers }));
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(Array(8).fill(200));
}

describe('more slow callers than upstream connections do not block others', () => {
  test('if they send small bodies slowly: a request gets a connection after its body is complete', async () => {
    for (let count = 0; count < 3 * CONNECTIONS; count += 1) {
      open(`${creation(2)}{`);
    }
    await until(() => slow.every(({ bytesWritten }) => bytesWritten > 0));
    await answerOthers();
    expect(gateway.upstream.requests.map(({ method }) => method)).toEqual(Array(8).fill('GET'));
    const [first] = slow;
    first?.write('}');
    const [reply] = (await once(first as Socket, 'data')) as [Buffer];
    expect(reply.toString()).toMatch(/^HTTP\/1\.1 200 /);
    expect(gateway.upstream.last().body.toString()).toBe('{}');
  });

  test('if they send large bodies slowly', async () => {
    for (let count = 0; count < 3 * CONNECTIONS; count += 1) {
      open(creation(200_000) + ' '.repeat(150_000));
    }
    await until(() => slow.every(({ bytesWritten }) => bytesWritten > 150_000));
    await answerOthers();
  });

  test('if they read slowly: the exchange that has been held longest is canceled', async () => {
    let large = 0;
    gateway.upstream.answerWith((request, response) => {
      const isLarge = request.url?.includes('large') === true;
      large += isLarge ? 1 : 0;
      response.end(isLarge ? Buffer.alloc(16 * MEBIBYTE) : '{}');
    });
    for (let count = 0; count < 3 * CONNECTIONS; count += 1) {
      open(head('GET /api/device?large')).pause();
    }
    await until(() => large >= CONNECTIONS);
    await answerOthers();
    await answerOthers();
  });
});

test.each([
  ['headers', 'GET /api/device HTTP/1.1\r\nHost: g\r\nX-A: ', 'a'],
  ['bodies', creation(1000), '{'],
])(
  '500 connections with slow %s are closed and do not affect others',
  async (_name, text, drip) => {
    const sockets = Array.from({ length: 500 }, () => open(text));
    const dripping = setInterval(() => {
      for (const socket of sockets) {
        socket.write(drip);
      }
    }, 1000);
    // Node checks for overdue connections every five seconds, with deadlines of 15 and 30 s.
    await until(async () => {
      await answerOthers();
      return sockets.every(({ destroyed }) => destroyed);
    }, 90);
    clearInterval(dripping);
  },
);
