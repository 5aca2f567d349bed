import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { until } from '@gatehouse/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createUpstream, type Upstream, type UpstreamRequest } from '../src/upstream/upstream.ts';

interface Seen {
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

let seen: Seen[];
let broken: number;
let connections: number;
let onRequest: RequestListener;
let service: Server;
let upstream: Upstream;

const remember: RequestListener = (request, response) => {
  request.on('error', () => {
    broken += 1;
  });
  void text(request.setEncoding('latin1')).then(
    (body) => {
      seen.push({ headers: request.headers, body });
      response.end('done');
    },
    () => undefined,
  );
};

beforeEach(async () => {
  seen = [];
  broken = 0;
  connections = 0;
  onRequest = remember;
  // Without a listener for upgrades, the server treats a handshake as a request.
  service = createServer((request, response) => onRequest(request, response));
  service.on('connection', () => {
    connections += 1;
  });
  await once(service.listen(0, '127.0.0.1'), 'listening');
  open({ connections: 1, streamConnections: 1, maximumRequests: 1 });
});
afterEach(async () => {
  service.closeAllConnections();
  await upstream.close();
  service.close();
});

function open(options: Partial<Parameters<typeof createUpstream>[0]>): void {
  const { port } = service.address() as { port: number };
  upstream = createUpstream({
    url: `http://127.0.0.1:${port}`,
    health: undefined,
    onCircuitChange: () => {},
    connections: 16,
    streamConnections: 16,
    maximumRequests: 64,
    ...options,
  });
}

function start(request: Partial<UpstreamRequest> = {}) {
  return upstream.send({
    ...{ method: 'GET', target: '/', headers: [], body: undefined },
    ...{ timeoutMilliseconds: 10_000, streaming: false, ...request },
  });
}

async function textOf(reply: ReturnType<typeof start>['reply']): Promise<string> {
  const { body } = await reply;
  return new Promise((resolve, reject) => {
    let received = '';
    body.connect({
      write(chunk) {
        received += chunk.toString('latin1');
        return true;
      },
      end: () => resolve(received),
      fail: reject,
    });
  });
}

const startPost = (body: UpstreamRequest['body']) => start({ method: 'POST', body });
const post = (body: UpstreamRequest['body']) => textOf(startPost(body).reply);

/** A stream whose errors the test expects. */
function openStream(...pieces: readonly string[]): PassThrough {
  const stream = new PassThrough().on('error', () => {});
  for (const piece of pieces) {
    stream.write(piece);
  }
  return stream;
}

function inPieces(pieces: readonly string[]): Readable {
  return Readable.from(
    (async function* () {
      for (const piece of pieces) {
        await nextTurn();
        yield Buffer.from(piece);
      }
    })(),
  ).on('error', () => {});
}

describe('a request body for a service', () => {
  const bodies = () => seen.map(({ body }) => body);

  test('is sent completely with its length', async () => {
    const body = 'x'.repeat(300 * 1024);
    expect(await post(Buffer.from(body))).toBe('done');
    expect(await post(Buffer.alloc(0))).toBe('done');

    expect(bodies()).toEqual([body, '']);
    const lengths = seen.map(({ headers }) => headers['content-length']);
    expect(lengths).toEqual([String(body.length), '0']);
    expect(connections).toBe(1);
  });

  test.each([
    ['with the announced length', 10, { 'content-length': '10' }],
    ['in chunks without an announced length', undefined, { 'transfer-encoding': 'chunked' }],
  ])('is streamed %s, on a connection of its own', async (_name, length, headers) => {
    const pieces = ['abc', 'defgh', 'ij'];
    expect(await post({ stream: inPieces(pieces), length })).toBe('done');
    expect(await post({ stream: inPieces(pieces), length })).toBe('done');

    expect(bodies()).toEqual(['abcdefghij', 'abcdefghij']);
    expect(seen[0]?.headers).toMatchObject({ ...headers, connection: 'close' });
    expect(connections).toBe(2);
  });

  test('is streamed as fast as the service reads if it exceeds all buffers', async () => {
    const resume = Promise.withResolvers<void>();
    onRequest = (request, response) => {
      request.pause();
      void resume.promise.then(() => remember(request, response));
    };
    const piece = Buffer.alloc(64 * 1024, 'x');
    const limit = 32 * 1024 * 1024;
    let sent = 0;
    const stream = Readable.from(
      (function* () {
        for (; sent < limit; sent += piece.length) {
          yield piece;
        }
      })(),
    );
    const reply = post({ stream, length: undefined });
    let before = -1;
    await until(() => {
      const hasStopped = sent === before && sent > 0;
      before = sent;
      return hasStopped;
    });
    // Little more than the socket buffers hold.
    expect(sent).toBeLessThan(limit / 2);
    resume.resolve();

    expect(await reply).toBe('done');
    expect(seen[0]?.body).toHaveLength(limit);
  });

  test.each([
    ['shorter', ['abc']],
    ['longer', ['abc', 'defghijklmno']],
  ])('CWE-444 ends the exchange if it is %s than announced', async (_name, pieces) => {
    const body = { stream: inPieces(pieces), length: 10 };
    await expect(post(body)).rejects.toThrow(expect.objectContaining({ code: 'bad_gateway' }));
    await until(() => broken === 1);
    expect(seen).toEqual([]);
    expect(await post(Buffer.from('next'))).toBe('done');
    expect(bodies()).toEqual(['next']);
    expect(connections).toBe(2);
  });

  test('fails with its own error before or during sending', async () => {
    const causedBy = (message: string) =>
      expect.objectContaining({ cause: expect.objectContaining({ message }) });
    const stream = openStream().destroy(new Error('Too large.'));
    await expect(post({ stream, length: 10 })).rejects.toThrow(causedBy('Too large.'));

    const breaking = openStream('abc');
    const reply = post({ stream: breaking, length: 10 });
    await until(() => connections === 2);
    breaking.destroy(new Error('Too late.'));
    await expect(reply).rejects.toThrow(causedBy('Too late.'));
    expect(await post(Buffer.from('next'))).toBe('done');
  });

  test('is destroyed if its caller leaves before the start', async () => {
    const stream = openStream();
    const canceled = startPost({ stream, length: 10 });
    canceled.onRequestClosed();

    await expect(canceled.reply).rejects.toThrow();
    await until(() => stream.destroyed);
    expect(await post(Buffer.from('next'))).toBe('done');
    expect(bodies()).toEqual(['next']);
  });

  test('CWE-444 closes the connection if the service answers before its end', async () => {
    onRequest = (_request, response) => response.writeHead(413).end('no');
    const stream = openStream('abc');
    expect(await post({ stream, length: 10 })).toBe('no');
    await until(() => stream.destroyed);

    onRequest = remember;
    expect(await post(Buffer.from('next'))).toBe('done');
    expect(connections).toBe(2);
  });
});

describe('a service on a Unix socket', () => {
  const socketPath = join(tmpdir(), `service-${randomUUID().slice(0, 8)}.sock`);
  const target = '/things';

  beforeEach(async () => {
    await new Promise((resolve) => service.close(resolve));
    onRequest = async (request, response) => {
      const { method, url, headers } = request;
      response.end(`${method} ${url} ${headers.host} ${await text(request)}`);
    };
    await once(service.listen(socketPath), 'listening');
    open({ url: 'http://service.example/base', socketPath, health: '/live' });
  });

  test('gets requests and WebSockets with the host and the path of its URL', async () => {
    expect(await textOf(start({ target }).reply)).toBe('GET /base/things service.example ');
    const sent = { method: 'POST', target, body: Buffer.from('text') };
    expect(await textOf(start(sent).reply)).toBe('POST /base/things service.example text');

    service.on('upgrade', ({ url, headers }, socket) => {
      const head = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n';
      socket.write(`${head}Connection: Upgrade\r\n\r\n`);
      socket.on('data', () => socket.end(`${url} ${headers.host}`));
    });
    const headers = ['sec-websocket-key', 'x'];
    const { socket } = await upstream.upgrade({ target, headers, timeoutMilliseconds: 5000 });
    socket.write('a message');
    expect(String((await once(socket, 'data'))[0])).toBe('/base/things service.example');
    socket.destroy();
  });

  test('answers the health path while a request waits', async () => {
    const probed = Promise.withResolvers<void>();
    onRequest = async ({ url }, response) => {
      if (url === '/base/live') {
        probed.resolve();
      } else {
        await probed.promise;
      }
      response.end(url);
    };
    expect(await textOf(start({ target }).reply)).toBe('/base/things');
    expect(upstream.circuit).toBe('closed');
  });

  test('is unreachable while it does not listen', async () => {
    await new Promise((resolve) => service.close(resolve));
    await expect(start({ target }).reply).rejects.toMatchObject({ code: 'bad_gateway' });
    await once(service.listen(socketPath), 'listening');
    expect(await textOf(start({ target }).reply)).toContain('/base/things');
  });
});
