// runs alone: it compares times
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type BootedGateway, bootGateway, closeUnharmed } from './booted-gateway.ts';
import { send } from './http-client.ts';

const CONNECTIONS = 4;
/** Slow callers hold connections for 15 s. */
const DEADLINE_MILLISECONDS = 10_000;
const MEBIBYTE = 1024 * 1024;
let booted: BootedGateway;
let token: string;
let slow: Socket[] = [];

beforeAll(async () => {
  booted = await bootGateway({
    upstreamConnections: CONNECTIONS,
    upstreamStreams: CONNECTIONS,
    upstreamMaximumRequests: 64,
  });
  token = await booted.issueToken();
});
afterEach(() => {
  for (const socket of slow) {
    socket.destroy();
  }
  slow = [];
});
afterAll(() => closeUnharmed(booted));

function open(text: string): Socket {
  const socket = connect(booted.port, '127.0.0.1', () => socket.write(text));
  socket.on('error', () => {});
  slow.push(socket);
  return socket;
}

const head = (target: string, more = '') =>
  `${target} HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ${token}\r\n${more}\r\n`;

async function answerOthers(count: number): Promise<number> {
  const started = performance.now();
  const replies = await Promise.all(
    Array.from({ length: count }, () =>
      send(booted.port, '/api/device?small', { headers: { Authorization: `Bearer ${token}` } }),
    ),
  );
  expect(replies.map(({ status }) => status)).toEqual(Array(count).fill(200));
  return performance.now() - started;
}

describe('more slow callers than upstream connections do not block others', () => {
  test('if they send small bodies slowly: a request gets a connection after its body is complete', async () => {
    booted.upstream.requests.length = 0;
    const creation = head(
      'POST /device-instance',
      'Content-Type: application/json\r\nContent-Length: 2\r\n',
    );
    for (let count = 0; count < 3 * CONNECTIONS; count += 1) {
      open(`${creation}{`);
    }
    await sleep(300);
    expect(await answerOthers(8)).toBeLessThan(DEADLINE_MILLISECONDS);
    expect(booted.upstream.requests.map(({ method }) => method)).toEqual(Array(8).fill('GET'));
    const whole = await send(booted.port, '/device-instance', {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: '{"id":"whole"}',
    });
    expect(whole.status).toBe(200);
    const [first] = slow;
    first?.write('}');
    const [reply] = (await once(first as Socket, 'data')) as [Buffer];
    expect(reply.toString()).toMatch(/^HTTP\/1\.1 200 /);
    expect(booted.upstream.last().body.toString()).toBe('{}');
  });

  test('if they send large bodies slowly', async () => {
    const creation = head(
      'POST /device-instance',
      'Content-Type: application/json\r\nContent-Length: 200000\r\n',
    );
    for (let count = 0; count < 3 * CONNECTIONS; count += 1) {
      open(creation + ' '.repeat(150_000));
    }
    await sleep(300);
    expect(await answerOthers(8)).toBeLessThan(DEADLINE_MILLISECONDS);
  });

  test('if they read slowly: the exchange that has been held longest is canceled', async () => {
    booted.upstream.answerWith((request, response) =>
      response.end(request.url?.includes('large') ? Buffer.alloc(16 * MEBIBYTE) : '{}'),
    );
    for (let count = 0; count < 3 * CONNECTIONS; count += 1) {
      open(head('GET /api/device?large')).pause();
    }
    await sleep(400);
    expect(await answerOthers(8)).toBeLessThan(DEADLINE_MILLISECONDS);
    await sleep(300);
    expect(await answerOthers(8)).toBeLessThan(DEADLINE_MILLISECONDS);
    booted.upstream.answerWith(undefined);
  });
});
