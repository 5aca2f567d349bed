import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@gatehouse/testing';
import { afterEach, describe, expect, test } from '@jest/globals';
import { HELD_BODIES, type HeldBodiesLimits } from '../src/authentication/held-bodies.ts';
import {
  type BootedGateway,
  type BootOptions,
  bootGateway,
  closeUnharmed,
} from './booted-gateway.ts';

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;

const limits: HeldBodiesLimits = {
  smallBodyBytes: 16 * KIBIBYTE,
  small: { totalBytes: 60 * KIBIBYTE, addressBytes: 30 * KIBIBYTE },
  large: { totalBytes: 300 * KIBIBYTE, addressBytes: 200 * KIBIBYTE },
  patienceMilliseconds: 60_000,
  bytesPerSecond: 100 * KIBIBYTE,
};

/** A signed POST with a body that does not end. */
interface SlowBody {
  readonly socket: Socket;
  /** The status of the reply, if one arrived. */
  status(): string | undefined;
  isOpen(): boolean;
}

interface SlowBodyOptions {
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly announcedBytes: number;
  /** Bytes that are sent at once. */
  readonly bytes: number;
  /** Any address in 127.0.0.0/8. */
  readonly from?: string;
}

function sendSlowBody({ port, headers, announcedBytes, bytes, from }: SlowBodyOptions): SlowBody {
  const socket = connect({ port, host: '127.0.0.1', ...(from && { localAddress: from }) });
  let received = '';
  socket.on('data', (data) => {
    received += data.toString();
  });
  socket.on('error', () => {});
  const lines = Object.entries({ Host: 'gateway', ...headers }).map((pair) => pair.join(': '));
  socket.write(
    `POST /device-instance HTTP/1.1\r\nContent-Length: ${announcedBytes}\r\n${lines.join('\r\n')}\r\n\r\n`,
  );
  socket.write('x'.repeat(bytes));
  return {
    socket,
    status: () => /^HTTP\/1.1 (\d+)/.exec(received)?.[1],
    isOpen: () => received === '' && !socket.destroyed,
  };
}

let booted: BootedGateway;
const slow: SlowBody[] = [];

async function boot(heldBodies?: Partial<HeldBodiesLimits>, more: BootOptions = {}): Promise<void> {
  booted = await bootGateway({
    trustedProxies: ['127.0.0.1'],
    ...(heldBodies && { heldBodies: { ...limits, ...heldBodies } }),
    ...more,
  });
}

afterEach(async () => {
  for (const { socket } of slow.splice(0)) {
    socket.destroy();
  }
  await closeUnharmed(booted);
});

/** Sends the first part of a signed body and stops. */
function begin(address: string, kibibytes: number, clientId = 'demo', version = 1): SlowBody {
  const inVersion = version === 1 ? booted.signed : booted.signedV2;
  const headers = {
    ...inVersion({ body: 'x' }),
    'X-Client-Id': clientId,
    'X-Forwarded-For': address,
  };
  const body = sendSlowBody({
    port: booted.port,
    headers,
    announcedBytes: 1000 * KIBIBYTE,
    bytes: kibibytes * KIBIBYTE,
  });
  slow.push(body);
  return body;
}

let count = 0;
async function post(address: string, kibibytes = 0) {
  count += 1;
  const body = `"${count}${'y'.repeat(kibibytes * KIBIBYTE)}"`;
  const headers = { ...booted.signed({ body }), 'X-Forwarded-For': address };
  return booted.send('/device-instance', { method: 'POST', headers, body });
}

describe('bodies that wait for verification', () => {
  test('CWE-400 of five slow addresses do not block other callers', async () => {
    const patient = { ...HELD_BODIES, patienceMilliseconds: 60_000 };
    await boot(patient, { maximumConnections: 4096, trustedProxies: [] });
    const addresses = [2, 3, 4, 5, 6].map((last) => `127.0.0.${last}`);
    const perAddress = 20;
    for (const from of addresses) {
      for (let index = 0; index < perAddress; index += 1) {
        const headers = booted.signed({ body: `${from} ${index}` });
        const sizes = { announcedBytes: MEBIBYTE, bytes: MEBIBYTE - 1 };
        slow.push(sendSlowBody({ port: booted.port, from, headers, ...sizes }));
      }
    }
    const others = async () => {
      const replies = await Promise.all([0, 0, 10, 63, 200, 900].map((size) => post('', size)));
      return replies.map(({ status }) => status);
    };
    expect(await others()).toEqual(Array(6).fill(200));
    // 4 MiB per address: the others were rejected with Retry-After.
    const open = () => slow.filter((body) => body.isOpen()).length;
    await until(() => open() <= addresses.length * 4, 25);
    expect(new Set(slow.map((body) => body.status()))).toEqual(new Set(['503', undefined]));
    expect(await others()).toEqual(Array(6).fill(200));
  });

  test.each([
    ['demo', 1],
    ['nobody', 1],
    ['demo', 2],
    ['nobody', 2],
  ])('CWE-770 of one address evict each other (client %s, version %d)', async (client, version) => {
    await boot({});
    const first = begin('192.0.2.1', 150, client, version);
    let text = '';
    first.socket.on('data', (data) => {
      text += data.toString();
    });
    await sleep(100);
    const second = begin('192.0.2.1', 100, client, version);
    await until(() => text.includes('service_unavailable'));
    expect(text).toMatch(/^HTTP\/1\.1 503 [\s\S]*^retry-after: 1/im);
    expect(text).not.toMatch(/x-sign/i);
    expect(second.status()).toBeUndefined();
    expect((await post('192.0.2.2')).status).toBe(200);
  });

  test('CWE-770 of all addresses evict each other, the slowest first', async () => {
    await boot({});
    const stopped = begin('192.0.2.1', 150);
    const steady = begin('192.0.2.2', 100);
    for (let piece = 0; piece < 10; piece += 1) {
      await sleep(20);
      steady.socket.write('x'.repeat(4 * KIBIBYTE));
    }
    expect(stopped.isOpen()).toBe(true);
    expect((await post('192.0.2.3', 100)).status).toBe(200);
    await until(() => stopped.status() === '503');
    expect(steady.isOpen()).toBe(true);
    // The first body has released its memory.
    expect((await post('192.0.2.3', 140)).status).toBe(200);
    expect(steady.isOpen()).toBe(true);
  });

  test('do not use the memory reserved for small bodies', async () => {
    await boot({});
    const large = [begin('192.0.2.1', 145), begin('192.0.2.2', 145)];
    await sleep(100);
    const small = [begin('192.0.2.3', 14), begin('192.0.2.4', 14)];
    await sleep(100);
    expect([...large, ...small].map((body) => body.isOpen())).toEqual(Array(4).fill(true));
    expect((await post('192.0.2.5', 10)).status).toBe(200);
    expect([...large, ...small].map((body) => body.isOpen())).toEqual(Array(4).fill(true));
  });

  test('CWE-400 that are small and slow are evicted for other small bodies', async () => {
    await boot({});
    for (let last = 1; last <= 20; last += 1) {
      begin(`192.0.2.${last}`, 15);
    }
    await until(() => slow.filter((body) => body.isOpen()).length <= 4);
    for (let tries = 0; tries < 10; tries += 1) {
      expect((await post('192.0.2.99', 10)).status).toBe(200);
    }
  });

  test('may be larger than the limit of an address if they are alone, and get 413 if they can never fit', async () => {
    await boot({});
    expect((await post('192.0.2.1', 280)).status).toBe(200);
    const body = begin('192.0.2.1', 400);
    await until(() => body.status() === '413');
  });

  test('CWE-400 must arrive at a minimum rate', async () => {
    await boot({ patienceMilliseconds: 1000, bytesPerSecond: 4 * KIBIBYTE });
    const stopped = begin('192.0.2.1', 10);
    const trickle = begin('192.0.2.2', 10);
    const steady = begin('192.0.2.3', 10);
    while (stopped.status() === undefined || trickle.status() === undefined) {
      trickle.socket.write('x');
      steady.socket.write('x'.repeat(KIBIBYTE));
      await sleep(50);
    }
    expect([stopped, trickle, steady].map((body) => body.status())).toEqual([
      '408',
      '408',
      undefined,
    ]);
    expect(steady.isOpen()).toBe(true);
  });

  test('release their memory at every kind of end', async () => {
    await boot({});
    for (let round = 0; round < 5; round += 1) {
      const left = begin('192.0.2.1', 180);
      await sleep(30);
      left.socket.destroy();
      await sleep(30);
      expect((await post('192.0.2.1', 180)).status).toBe(200);
      const headers = { ...booted.signed({ body: 'other' }), 'X-Forwarded-For': '192.0.2.1' };
      const body = 'z'.repeat(180 * KIBIBYTE);
      const refused = await booted.send('/device-instance', { method: 'POST', headers, body });
      expect(refused.status).toBe(401);
    }
    const last = begin('192.0.2.1', 190);
    await sleep(100);
    expect(last.isOpen()).toBe(true);
  });
});
