// runs alone: it compares times
/**
 * Five addresses send signed bodies of 1 MiB and never end them, while other addresses send signed
 * requests.
 */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { signatureHeaders } from '@gatehouse/testing';
import { startSystem } from '@gatehouse/testing/suite';
import { expect, test } from '@jest/globals';

const MIB = 1024 * 1024;
const ATTACK_SECONDS = 20;
const CONNECTIONS_PER_ADDRESS = 32;
const attackers = [11, 12, 13, 14, 15].map((last) => `127.0.0.${last}`);
const client = { clientId: 'victim', secureKey: 'k3yOfTheOneWhoMustWait' };

const system = await startSystem({
  engine: 'sqlite',
  apps: ['gateway', 'device-service'],
  bootstrap: {
    organizations: [{ id: 'org-1', name: 'One' }],
    clients: [{ ...client, name: 'One', orgId: 'org-1', scopes: ['device:write'] }],
  },
  environment: { LOG_LEVEL: 'error', CLIENT_RATE_LIMIT: '1000000/60' },
});

/**
 * Sends a body except for its last byte, and waits for the end of the connection. An unknown client
 * has the same effect as a known one.
 */
function hold(from: string): Promise<void> {
  const { port } = new URL(system.gatewayUrl);
  return new Promise((resolve) => {
    const socket = connect({ port: Number(port), host: '127.0.0.1', localAddress: from });
    socket.on('error', () => {});
    socket.once('close', () => resolve());
    socket.resume();
    socket.write(
      `POST /device-instance HTTP/1.1\r\nHost: gateway\r\nContent-Length: ${MIB}\r\n` +
        `X-Client-Id: nobody\r\nX-Timestamp: ${Date.now()}\r\nX-Sign: ${'0'.repeat(64)}\r\n\r\n`,
    );
    socket.write(Buffer.alloc(MIB - 1, 'x'));
  });
}

async function attack(until: number): Promise<void> {
  const keep = async (from: string) => {
    while (performance.now() < until) {
      await Promise.race([hold(from), sleep(until - performance.now())]);
      // Prevents a busy loop if the gateway rejects immediately.
      await sleep(200);
    }
  };
  const all = attackers.flatMap((from) => Array(CONNECTIONS_PER_ADDRESS).fill(from));
  await Promise.all(all.map(keep));
}

let sequence = 0;
async function create(bytes: number): Promise<number> {
  sequence += 1;
  const device = { id: `device-${sequence}`, name: 'x', productId: 'p', productName: 'p' };
  const body = JSON.stringify({ ...device, describe: 'y'.repeat(bytes) });
  const headers = { 'Content-Type': 'application/json', ...signatureHeaders(client, body) };
  const url = `${system.gatewayUrl}/device-instance`;
  const reply = await fetch(url, { method: 'POST', headers, body });
  await reply.arrayBuffer();
  return reply.status;
}

async function residentMebibytes(): Promise<number> {
  const { operationsUrl } = system.member('gateway');
  const text = await (await fetch(`${operationsUrl}/metrics`)).text();
  return Number(/^process_resident_memory_bytes (\S+)/m.exec(text)?.[1]) / MIB;
}

test('slow signed bodies do not cause rejections of other signed requests', async () => {
  expect(await create(10)).toBe(200);
  const before = await residentMebibytes();
  const end = performance.now() + ATTACK_SECONDS * 1000;
  const attacking = attack(end);
  const statuses: number[] = [];
  let most = 0;
  while (performance.now() < end) {
    statuses.push(...(await Promise.all([10, 10_000, 60_000].map(create))));
    most = Math.max(most, await residentMebibytes());
    await sleep(50);
  }
  await attacking;

  expect(statuses.length).toBeGreaterThan(9);
  expect(new Set(statuses)).toEqual(new Set([200]));
  // The gateway holds 5 × 4 MiB. The rest is in transit or garbage.
  expect(most - before).toBeLessThan(300);
});
