// requires: nginx
/**
 * nginx with the configuration of the containers, before servers that close connections or that do
 * not run.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCatalogue } from '@gatehouse/errors';
import { exchange, freePort, until } from '@gatehouse/testing';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';

const apps = ['gateway', 'authorization-server'] as const;
type App = (typeof apps)[number] | 'console';

const directory = temporaryFolder();
const log = join(directory, 'log');
const ports = { gateway: 0, 'authorization-server': 0, console: 0 };
const servers: Server[] = [];
let nginx: ChildProcess;

beforeAll(async () => {
  // If this process is root, the workers of nginx run as another user.
  chmodSync(directory, 0o755);
  for (const app of [...apps, 'console'] as const) {
    mkdirSync(join(directory, `${app}s`));
    ports[app] = await freePort();
  }
  const ours = join(import.meta.dirname, '..', 'containers', 'nginx.conf');
  const configuration = readFileSync(ours, 'utf8')
    .replaceAll(/\/(?:tmp|run)\//g, `${directory}/`)
    .replace('proxy_read_timeout 20s;', 'proxy_read_timeout 1s;')
    .replace('listen 9000;', `listen 127.0.0.1:${ports['authorization-server']};`)
    .replace('listen 8844;', `listen 127.0.0.1:${ports.gateway};`)
    .replace('listen 9020;', `listen 127.0.0.1:${ports.console};`);
  const file = join(directory, 'nginx.conf');
  writeFileSync(file, configuration);
  const output = openSync(log, 'a');
  const options = ['-e', 'stderr', '-p', directory, '-c', file];
  nginx = spawn('nginx', [...options, '-g', 'daemon off; worker_processes 2;'], {
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  await until(() => fetch(`http://127.0.0.1:${ports.gateway}/`));
});
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => once(server.close(), 'close')));
  // nginx may write a line after the client has read the reply.
  for (let before = -1; before !== statSync(log).size; ) {
    before = statSync(log).size;
    await sleep(50);
  }
});
afterAll(async () => {
  nginx.kill();
  await once(nginx, 'close');
});

/** Counts the requests that reach the server, and keeps the last one. */
async function serveAt(app: App, name: string, answer: (socket: Socket) => void) {
  const seen = { requests: 0, head: '' };
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (chunk: Buffer) => {
      seen.requests += 1;
      seen.head = chunk.toString('latin1');
      answer(socket);
    });
  });
  const path = join(directory, `${app}s`, `${name}.sock`);
  servers.push(server.listen({ path, readableAll: true, writableAll: true }));
  await once(server, 'listening');
  return seen;
}

const breakOff = (socket: Socket) => socket.destroy();
const breakOffInTheHead = (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Le');
const succeed = (socket: Socket) =>
  socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok');

const post = (app: App, query = '') =>
  fetch(`http://127.0.0.1:${ports[app]}/device-instance${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });

/** Sends this head, and resolves to everything that nginx sends. */
const sendRaw = (app: App, head: string) =>
  exchange(`http://127.0.0.1:${ports[app]}`, `${head}\r\nConnection: close\r\n\r\n`);

/** Waits for this many new lines. */
async function linesAfter(before: string, count: number): Promise<readonly string[]> {
  const lines = () => readFileSync(log, 'utf8').slice(before.length).split('\n').filter(Boolean);
  await until(() => lines().length >= count);
  return lines();
}

const words = {
  gateway: [{ code: 'bad_gateway' }, { code: 'service_unavailable' }],
  'authorization-server': [{ error: 'server_error' }, { error: 'temporarily_unavailable' }],
} as const;

test.each(['/_verify', '/_verify/api/device', '/_verify?scope=device:read'])(
  'nginx of the containers lets no caller ask the gateway at %s',
  async (path) => {
    const seen = await serveAt('gateway', 'gateway', succeed);
    const reply = await fetch(`http://127.0.0.1:${ports.gateway}${path}`);
    expect([reply.status, seen.requests]).toEqual([404, 0]);
    expect((await fetch(`http://127.0.0.1:${ports.gateway}/_verify2`)).status).toBe(200);
  },
);

describe.each(apps)('nginx of the containers in front of %s', (app) => {
  test('forwards a reply with the longest head of a sign-in', async () => {
    const cookies = Array.from({ length: 3 }, (_, i) => `Set-Cookie: c${i}=${'x'.repeat(4000)}`);
    const head = ['HTTP/1.1 200 OK', ...cookies, 'Content-Length: 2', 'Connection: close'];
    await serveAt(app, app, (socket) => socket.end(`${head.join('\r\n')}\r\n\r\nok`));
    const reply = await post(app);
    expect([reply.status, reply.headers.getSetCookie().length]).toEqual([200, 3]);
  });

  const [brokeOff, nobody] = words[app];

  test.each([
    ['absent', 'X-Other: x'],
    ['too short', 'X-Request-Id: short'],
    ['too long', `X-Request-Id: ${'x'.repeat(65)}`],
    ['a forged log line', 'X-Request-Id: "},{"level":"fatal'],
  ])('gives a request its own id if the id of the caller is %s', async (_name, header) => {
    const seen = await serveAt(app, app, succeed);
    await sendRaw(app, `GET / HTTP/1.1\r\nHost: x\r\n${header}`);
    const ids = [...seen.head.matchAll(/^x-request-id: (.*)\r$/gim)].map(([, id]) => id);
    expect(ids).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
  });

  test('its own replies and log lines have the request id', async () => {
    const before = readFileSync(log, 'utf8');
    const known = await fetch(`http://127.0.0.1:${ports[app]}/`, {
      headers: { 'x-request-id': 'known-to-the-caller' },
    });
    expect([known.status, known.headers.get('x-request-id')]).toEqual([503, 'known-to-the-caller']);
    const made = (await post(app)).headers.get('x-request-id');
    expect(made).toMatch(/^[0-9a-f]{32}$/);
    const ids = (await linesAfter(before, 2)).map((line) => JSON.parse(line).requestId);
    expect(ids.toSorted()).toEqual(['known-to-the-caller', made].toSorted());
  });

  test('answers 503 with Retry-After if no app listens', async () => {
    const reply = await post(app);
    expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await reply.json()).toMatchObject(nobody);
  });

  test.each([app, `${app}-2`])('fails over to %s if the other instance is down', async (name) => {
    const seen = await serveAt(app, name, succeed);
    for (let asked = 1; asked <= 4; asked += 1) {
      expect((await post(app)).status).toBe(200);
      expect(seen.requests).toBe(asked);
    }
  });

  test('never repeats a POST that an app read, and does not ask for a retry', async () => {
    const first = await serveAt(app, app, breakOff);
    const second = await serveAt(app, `${app}-2`, breakOff);
    for (let asked = 1; asked <= 4; asked += 1) {
      const reply = await post(app);
      expect([reply.status, reply.headers.get('retry-after')]).toEqual([502, null]);
      expect(reply.headers.get('cache-control')).toBe('no-store');
      expect(await reply.json()).toMatchObject(brokeOff);
      expect(first.requests + second.requests).toBe(asked);
    }
  });

  const get = 'GET / HTTP/1.1';
  const long = 'x'.repeat(40_000);
  test.each([
    ['an extra word in the request line', 'GET / two HTTP/1.1\r\nHost: x', 'illegal_argument'],
    ['an unknown version', 'GET / HTTP/3.0\r\nHost: x', 'illegal_argument'],
    ['a request without a host', get, 'illegal_argument'],
    ['an unknown coding', `${get}\r\nHost: x\r\nTransfer-Encoding: gzip`, 'illegal_argument'],
    ['a method that is not allowed', 'TRACE / HTTP/1.1\r\nHost: x', 'method_not_allowed'],
    ['a header of 40 kB', `${get}\r\nHost: x\r\nX: ${long}`, 'headers_too_large'],
    ['a target of 40 kB', `GET /${long} HTTP/1.1\r\nHost: x`, 'headers_too_large'],
  ] as const)('rejects %s itself, with the reply of the apps', async (_name, head, code) => {
    const before = readFileSync(log, 'utf8');
    const [replyHead = '', body = ''] = (await sendRaw(app, head)).split('\r\n\r\n');
    const { status } = errorCatalogue[code];
    expect(replyHead).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(replyHead).toMatch(/^content-type: application\/json\r?$/im);
    expect(replyHead).toMatch(/^cache-control: no-store\r?$/im);
    expect(replyHead).toMatch(/^x-request-id: [0-9a-f]{32}\r?$/im);
    const { timestamp, ...words } = JSON.parse(body);
    expect(Math.abs(timestamp - Date.now())).toBeLessThan(5000);
    const notHttp = 'The request is not valid HTTP/1.1.';
    const message = code === 'illegal_argument' ? notHttp : errorCatalogue[code].message;
    expect(words).toEqual({ status, code, message });
    const logged = (await linesAfter(before, 1)).map((line) => JSON.parse(line).status);
    expect(logged).toEqual([status]);
  });

  test('does not reset a connection whose caller is still sending', async () => {
    const socket = connect(ports[app], '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\n\r\n');
    await once(socket, 'readable');
    for (let sent = 0; sent < 3; sent += 1) {
      socket.write('x');
      await sleep(50);
    }
    socket.end();
    // A reset rejects this promise.
    expect(String(Buffer.concat(await socket.toArray()))).toMatch(/^HTTP\/1.1 400 /);
  });

  test('logs one line for each of its own replies, without the request, and none for others', async () => {
    const before = readFileSync(log, 'utf8');
    const token = '?access_token=marker';
    expect((await post(app, token)).status).toBe(503);
    await serveAt(app, app, breakOffInTheHead);
    expect((await post(app, token)).status).toBe(502);
    await serveAt(app, `${app}-2`, succeed);
    rmSync(join(directory, `${app}s`, `${app}.sock`));
    expect((await post(app, token)).status).toBe(200);
    await sendRaw(app, `GET /${token} two HTTP/1.1\r\nHost: marker`);
    const lines = await linesAfter(before, 3);
    // Two workers of nginx write in any order.
    expect(lines.map((line) => JSON.parse(line).status).sort()).toEqual([400, 502, 503]);
    expect(lines.join('\n')).not.toContain('marker');
  });
});

test('nginx of the containers forwards to the console, and reports when it is not available', async () => {
  const absent = await post('console');
  expect([absent.status, absent.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await absent.text()).toContain('The console is not available.');
  const seen = await serveAt('console', 'console', succeed);
  expect([(await post('console')).status, seen.requests]).toEqual([200, 1]);
  expect(seen.head).toMatch(/^x-forwarded-for: 127\.0\.0\.1\r$/im);
  await Promise.all(servers.splice(0).map((server) => once(server.close(), 'close')));
  const broken = await serveAt('console', 'console', breakOff);
  const reply = await post('console');
  expect([reply.status, reply.headers.get('retry-after')]).toEqual([502, null]);
  expect([await reply.text(), broken.requests]).toEqual([
    'The console closed the connection.\n',
    1,
  ]);
});

test('a frozen server delays its caller for a bounded time, and the other one does not get the POST', async () => {
  const app = 'authorization-server';
  const freeze = () => {};
  const first = await serveAt(app, app, freeze);
  const second = await serveAt(app, `${app}-2`, freeze);
  const reply = await post(app);
  expect(reply.status).toBe(502);
  expect(await reply.json()).toMatchObject({ error: 'server_error' });
  expect(first.requests + second.requests).toBe(1);
});
