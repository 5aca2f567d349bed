// runs alone: it compares times
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type BootedGateway, bootGateway, closeUnharmed } from './booted-gateway.ts';
import { send } from './http-client.ts';

const ATTACKERS = 500;
let booted: BootedGateway;

beforeAll(async () => {
  booted = await bootGateway();
});
afterAll(() => closeUnharmed(booted));

async function p99(token: string): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < 200; count += 1) {
    const started = performance.now();
    const reply = await send(booted.port, '/api/device', {
      headers: { Authorization: `Bearer ${token}` },
    });
    expect(reply.status).toBe(200);
    times.push(performance.now() - started);
  }
  return times.toSorted((a, b) => a - b)[197] ?? 0;
}

/**
 * Opens connections, sends the first part and then single bytes. Records how long each one lasted.
 */
function attack(beginning: string, drip: string) {
  const started = performance.now();
  const lasted: number[] = [];
  const sockets = Array.from({ length: ATTACKERS }, (): Socket => {
    const socket = connect(booted.port, '127.0.0.1', () => socket.write(beginning));
    const timer = setInterval(() => socket.write(drip), 1000);
    socket.on('error', () => {});
    socket.resume();
    socket.once('close', () => {
      clearInterval(timer);
      lasted.push(performance.now() - started);
    });
    return socket;
  });
  return { lasted, end: () => sockets.map((socket) => socket.destroy()) };
}

test.each([
  ['headers', 'GET /api/device HTTP/1.1\r\nHost: g\r\nX-A: ', 'a', 15_000],
  [
    'bodies',
    'POST /device-instance HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer TOKEN\r\nContent-Length: 1000\r\n\r\n',
    '{',
    30_000,
  ],
])(
  '500 connections with slow %s are closed and do not affect others',
  async (_name, beginning, drip, deadline) => {
    const token = await booted.issueToken();
    const quiet = await p99(token);
    const { lasted, end } = attack(beginning.replace('TOKEN', token), drip);
    await sleep(2000);
    // Slow clients would affect each measurement, and a busy machine affects only some.
    const attacked = Math.min(await p99(token), await p99(token), await p99(token));
    expect(attacked).toBeLessThan(Math.max(quiet * 2, 200));
    const giveUp = Date.now() + 2 * deadline;
    while (lasted.length < ATTACKERS && Date.now() < giveUp) {
      await sleep(200);
    }
    end();
    expect(lasted).toHaveLength(ATTACKERS);
    // Node checks for overdue connections every five seconds.
    expect(Math.max(...lasted)).toBeLessThan(deadline + 15_000);
  },
);
