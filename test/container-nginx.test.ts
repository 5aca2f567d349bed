// requires: nginx
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

/** nginx as the containers run it, in front of servers that break off. Names become ports of this machine. */
let directory: string;
let nginx: ChildProcess;
let server: Server;
const ports = { authorizationServer: 0, gateway: 0, behind: 0 };

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'gatehouse-nginx-'));
  for (const name of Object.keys(ports) as (keyof typeof ports)[]) {
    ports[name] = await freePort();
  }
  const configuration = readFileSync(
    join(import.meta.dirname, '..', 'containers', 'nginx.conf'),
    'utf8',
  )
    .replaceAll('/tmp/', `${directory}/`)
    .replace('listen 9000;', `listen 127.0.0.1:${ports.authorizationServer};`)
    .replace('listen 8844;', `listen 127.0.0.1:${ports.gateway};`)
    .replace('authorization-servers:9000', `127.0.0.1:${ports.behind}`)
    .replace('gateways:8844', `127.0.0.1:${ports.behind}`);
  const file = join(directory, 'nginx.conf');
  writeFileSync(file, configuration);
  nginx = spawn('nginx', ['-e', 'stderr', '-p', directory, '-c', file, '-g', 'daemon off;'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  while (!(await isListening())) {
    await sleep(20);
  }
});
afterAll(async () => {
  server?.close();
  nginx.kill();
  await once(nginx, 'close');
  rmSync(directory, { recursive: true });
});

const isListening = () =>
  fetch(`http://127.0.0.1:${ports.gateway}/`).then(
    () => true,
    () => false,
  );

const post = (port: number) =>
  fetch(`http://127.0.0.1:${port}/device-instance`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });

const kinds = [
  ['gateway', { code: 'bad_gateway' }, { code: 'service_unavailable' }],
  ['authorizationServer', { error: 'server_error' }, { error: 'temporarily_unavailable' }],
] as const;

describe('nginx of the containers', () => {
  it.each(kinds)('says 503, and to try again, where no %s listens', async (kind, _sent, nobody) => {
    const reply = await post(ports[kind]);
    expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await reply.json()).toMatchObject(nobody);
  });

  it.each(kinds)('never asks to repeat a POST that a %s has read', async (kind, sent, _nobody) => {
    let received = 0;
    server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        received += 1;
        socket.resetAndDestroy();
      });
    }).listen(ports.behind, '127.0.0.1');
    await once(server, 'listening');
    const reply = await post(ports[kind]);

    expect([reply.status, reply.headers.get('retry-after')]).toEqual([502, null]);
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(await reply.json()).toMatchObject(sent);
    expect(received).toBe(1);
    server.close();
    await once(server, 'close');
  });
});
