import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type BootedGateway, bootGateway, closeUnharmed } from './booted-gateway.ts';
import { send } from './http-client.ts';

const KIBIBYTE = 1024;

let booted: BootedGateway;

beforeAll(async () => {
  booted = await bootGateway({
    trustedProxies: ['127.0.0.1'],
    heldBodies: { totalBytes: 300 * KIBIBYTE, addressBytes: 200 * KIBIBYTE },
  });
});
afterAll(() => closeUnharmed(booted));

/** Sends most of a signed body, and waits. */
function begin(clientId: string, address: string, kibibytes: number, version = 1) {
  const inVersion = version === 1 ? booted.signed : booted.signedV2;
  const signed = { ...inVersion({ body: 'x' }), 'X-Client-Id': clientId };
  const headers = Object.entries({ ...signed, 'X-Forwarded-For': address });
  const socket = connect(booted.port, '127.0.0.1');
  let received = '';
  socket.on('data', (data) => {
    received += data.toString();
  });
  socket.on('error', () => {});
  socket.write(
    `POST /device-instance HTTP/1.1\r\nHost: gateway\r\nContent-Length: ${1000 * KIBIBYTE}\r\n` +
      `${headers.map((pair) => pair.join(': ')).join('\r\n')}\r\n\r\n${'x'.repeat(kibibytes * KIBIBYTE)}`,
  );
  return { socket, status: () => /^HTTP\/1.1 (\d+)/.exec(received)?.[1] };
}

async function post(address: string, body = '{}') {
  const headers = { ...booted.signed({ body }), 'X-Forwarded-For': address };
  return send(booted.port, '/device-instance', { method: 'POST', headers, body });
}

async function until(isSo: () => boolean): Promise<void> {
  for (let waited = 0; !isSo() && waited < 3000; waited += 10) {
    await sleep(10);
  }
  expect(isSo()).toBe(true);
}

describe('bodies that wait to be verified', () => {
  it.each([
    ['demo', 1],
    ['nobody', 1],
    ['demo', 2],
    ['nobody', 2],
  ])('CWE-770 are bounded for an address, of client %s by version %d', async (client, version) => {
    const open: Socket[] = [];
    const first = begin(client, '192.0.2.1', 150, version);
    open.push(first.socket);
    await sleep(100);
    const second = begin(client, '192.0.2.1', 100, version);
    open.push(second.socket);
    await until(() => second.status() === '503');
    expect(first.status()).toBeUndefined();

    expect((await post('192.0.2.2')).status).toBe(200);
    first.socket.destroy();
    second.socket.destroy();
    await sleep(50);
    expect((await post('192.0.2.1', `"${'y'.repeat(150 * KIBIBYTE)}"`)).status).toBe(200);
  });

  it('CWE-770 are bounded for all addresses together, and given back', async () => {
    const first = begin('nobody', '192.0.2.1', 150);
    const second = begin('nobody', '192.0.2.2', 140);
    await sleep(150);
    const refused = await post('192.0.2.3', `"${'y'.repeat(50 * KIBIBYTE)}"`);
    expect([refused.status, refused.json.code]).toEqual([503, 'service_unavailable']);
    expect(refused.headers['x-sign']).toBeUndefined();
    expect((await post('192.0.2.3', '{ }')).status).toBe(200);

    first.socket.destroy();
    second.socket.destroy();
    await sleep(50);
    expect((await post('192.0.2.3', `"${'z'.repeat(150 * KIBIBYTE)}"`)).status).toBe(200);
  });
});
