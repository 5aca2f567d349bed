import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createUpstream, type Upstream } from '../src/upstream/upstream.ts';

const socketPath = join(tmpdir(), `service-${randomUUID().slice(0, 8)}.sock`);
let service: Server;
/** Requests of `/base/held` that wait for the health probe. */
let held: ServerResponse[];
let upstream: Upstream;

beforeEach(async () => {
  held = [];
  service = createServer(async (request, response) => {
    if (request.url === '/base/held') {
      held.push(response);
      return;
    }
    if (request.url === '/base/live') {
      held.pop()?.end('after the probe');
    }
    response.end(`${request.method} ${request.url} ${request.headers.host} ${await text(request)}`);
  });
  service.on('upgrade', ({ url, headers }, socket) => {
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
    );
    socket.on('data', () => socket.end(`${url} ${headers.host}`));
  });
  await listen();
  upstream = createUpstream({
    url: 'http://service.example/base',
    socketPath,
    health: '/live',
    onCircuitChange: () => {},
    connections: 2,
    streamConnections: 2,
    maximumRequests: 8,
  });
});
afterEach(async () => {
  await upstream.close();
  const closed = once(service, 'close');
  service.close();
  service.closeAllConnections();
  await closed;
});

async function listen(): Promise<void> {
  service.listen(socketPath);
  await once(service, 'listening');
}

function send(method: string, body?: Buffer, target = '/things') {
  const common = { target, headers: [], timeoutMilliseconds: 5000, streaming: false };
  return upstream.send({ ...common, method, body }).reply;
}

async function bodyOf(reply: ReturnType<typeof send>): Promise<string> {
  const { body } = await reply;
  return new Promise((resolve, reject) => {
    let received = '';
    body.connect({
      write: (chunk) => {
        received += chunk.toString();
        return true;
      },
      end: () => resolve(received),
      fail: reject,
    });
  });
}

describe('a service on a Unix socket', () => {
  test('gets requests with the host and the path of its URL', async () => {
    expect(await bodyOf(send('GET'))).toBe('GET /base/things service.example ');
    expect(await bodyOf(send('POST', Buffer.from('text')))).toBe(
      'POST /base/things service.example text',
    );
  });

  test('gets WebSockets', async () => {
    const { socket } = await upstream.upgrade({
      target: '/things',
      headers: ['sec-websocket-key', 'x'],
      timeoutMilliseconds: 5000,
    });
    socket.write('a message');
    const [data] = await once(socket, 'data');
    expect(String(data)).toBe('/base/things service.example');
    socket.destroy();
  });

  test('answers the health path while a request waits', async () => {
    expect(await bodyOf(send('GET', undefined, '/held'))).toBe('after the probe');
    expect(upstream.circuit).toBe('closed');
  });

  test('is unreachable while it does not listen', async () => {
    service.close();
    await once(service, 'close');
    await expect(send('GET')).rejects.toMatchObject({ code: 'bad_gateway' });
    await listen();
    expect(await bodyOf(send('GET'))).toContain('/base/things');
  });
});
