import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { PassThrough, type Readable } from 'node:stream';
import { until } from '@gatehouse/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createUpstream, type Upstream, type UpstreamRequest } from '../src/upstream/upstream.ts';

const KIBIBYTE = 1024;

interface Seen {
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

let seen: Seen[];
let broken: number;
let connections: number;
let listener: RequestListener;
let service: Server;
let upstream: Upstream;

const remember: RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('error', () => {
    broken += 1;
  });
  request.on('end', () => {
    seen.push({ headers: request.headers, body: Buffer.concat(chunks).toString('latin1') });
    response.end('done');
  });
};

beforeEach(async () => {
  seen = [];
  broken = 0;
  connections = 0;
  listener = remember;
  service = createServer((request, response) => listener(request, response));
  service.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const { port } = service.address() as { port: number };
  upstream = createUpstream({
    url: `http://127.0.0.1:${port}`,
    connections: 1,
    streamConnections: 1,
    maximumRequests: 1,
    health: undefined,
    onCircuitChange: () => {},
  });
});
afterEach(async () => {
  await upstream.close();
  service.closeAllConnections();
  service.close();
});

function start(body: UpstreamRequest['body'], headers: readonly string[] = []) {
  const timeoutMilliseconds = 10_000;
  return upstream.send({
    ...{ method: 'POST', target: '/', headers, body, timeoutMilliseconds, streaming: false },
  });
}

async function post(...request: Parameters<typeof start>): Promise<string> {
  const { body } = await start(...request).reply;
  return new Promise((resolve, reject) => {
    let text = '';
    body.connect({
      write(chunk) {
        text += chunk.toString('latin1');
        return true;
      },
      end: () => resolve(text),
      fail: reject,
    });
  });
}

function inPieces(pieces: readonly string[]): Readable {
  const stream = new PassThrough({ readableHighWaterMark: 16 });
  void (async () => {
    for (const piece of pieces) {
      await new Promise((resolve) => setImmediate(resolve));
      stream.write(piece);
    }
    stream.end();
  })();
  return stream;
}

describe('a request body for a service', () => {
  test('is sent completely with its length', async () => {
    const body = 'x'.repeat(300 * KIBIBYTE);
    expect(await post(Buffer.from(body), ['content-type', 'text/plain'])).toBe('done');
    expect(await post(Buffer.alloc(0))).toBe('done');

    expect(seen.map(({ body }) => body)).toEqual([body, '']);
    expect(seen[0]?.headers).toMatchObject({ 'content-length': String(body.length) });
    expect(seen[1]?.headers).toMatchObject({ 'content-length': '0' });
    expect(connections).toBe(1);
  });

  test.each([
    ['with the announced length', 10, { 'content-length': '10' }],
    ['in chunks without an announced length', undefined, { 'transfer-encoding': 'chunked' }],
  ])('is streamed %s, on a connection of its own', async (_name, length, headers) => {
    const pieces = ['abc', 'defgh', 'ij'];
    expect(await post({ stream: inPieces(pieces), length })).toBe('done');
    expect(await post({ stream: inPieces(pieces), length })).toBe('done');

    expect(seen.map(({ body }) => body)).toEqual(['abcdefghij', 'abcdefghij']);
    expect(seen[0]?.headers).toMatchObject({ ...headers, connection: 'close' });
    expect(connections).toBe(2);
  });

  test('is streamed as fast as the service reads if it exceeds all buffers', async () => {
    let sent = 0;
    const stream = new PassThrough();
    listener = (request, response) => {
      request.pause();
      setTimeout(() => {
        remember(request, response);
        request.resume();
      }, 100);
    };
    const piece = Buffer.alloc(64 * KIBIBYTE, 'x');
    const limit = 32 * KIBIBYTE * KIBIBYTE;
    const fill = () => {
      while (sent < limit) {
        sent += piece.length;
        if (!stream.write(piece)) {
          stream.once('drain', fill);
          return;
        }
      }
      stream.end();
    };
    fill();
    const reply = post({ stream, length: undefined });
    await new Promise((resolve) => setTimeout(resolve, 50));
    // Little more than the socket buffers hold.
    expect(sent).toBeLessThan(limit / 2);

    expect(await reply).toBe('done');
    expect(seen[0]?.body).toHaveLength(limit);
  });

  test.each([
    ['shorter', ['abc']],
    ['longer', ['abc', 'defghijklmno']],
  ])('CWE-444 ends the exchange if it is %s than announced', async (_name, pieces) => {
    const body = { stream: inPieces(pieces), length: 10 };
    body.stream.on('error', () => {});

    await expect(post(body)).rejects.toThrow(expect.objectContaining({ code: 'bad_gateway' }));
    await until(() => broken === 1);
    expect(seen).toEqual([]);
    expect(await post(Buffer.from('next'))).toBe('done');
    expect(seen.map(({ body }) => body)).toEqual(['next']);
    expect(connections).toBe(2);
  });

  test('fails with its own error before or during sending', async () => {
    const broken = new PassThrough();
    broken.on('error', () => {});
    broken.destroy(new Error('Too large.'));
    const causedBy = (message: string) =>
      expect.objectContaining({ cause: expect.objectContaining({ message }) });
    await expect(post({ stream: broken, length: 10 })).rejects.toThrow(causedBy('Too large.'));

    const breaking = new PassThrough();
    breaking.on('error', () => {});
    breaking.write('abc');
    const reply = post({ stream: breaking, length: 10 });
    setTimeout(() => breaking.destroy(new Error('Too late.')), 20);
    await expect(reply).rejects.toThrow(causedBy('Too late.'));
    expect(await post(Buffer.from('next'))).toBe('done');
  });

  test('is destroyed if its caller leaves before the start', async () => {
    const stream = new PassThrough();
    stream.on('error', () => {});
    const canceled = start({ stream, length: 10 });
    canceled.onRequestClosed();

    await expect(canceled.reply).rejects.toThrow();
    await until(() => stream.destroyed);
    expect(await post(Buffer.from('next'))).toBe('done');
    expect(seen.map(({ body }) => body)).toEqual(['next']);
  });

  test('CWE-444 closes the connection if the service answers before its end', async () => {
    listener = (_request, response) => response.writeHead(413).end('no');
    const stream = new PassThrough();
    stream.on('error', () => {});
    stream.write('abc');
    expect(await post({ stream, length: 10 })).toBe('no');
    await until(() => stream.destroyed);

    listener = remember;
    expect(await post(Buffer.from('next'))).toBe('done');
    expect(connections).toBe(2);
  });
});
