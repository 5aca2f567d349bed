import { createServer, type RequestListener, type Server } from 'node:http';
import { PassThrough } from 'node:stream';
import { until } from '@gatehouse/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createUpstream, type Upstream } from '../src/upstream/upstream.ts';

const TIMEOUTS = 5;
const silence: RequestListener = (request) => request.resume();
const refuse: RequestListener = (request, response) => {
  request.resume();
  response.writeHead(403).end();
};

let service: Server;
let upstream: Upstream;
let onRequest: RequestListener;

beforeEach(async () => {
  onRequest = silence;
  // Without a listener for upgrades, the server treats a handshake as a request.
  service = createServer((request, response) => onRequest(request, response));
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  open({ connections: 16 });
});

afterEach(async () => {
  service.closeAllConnections();
  await upstream.close();
  service.close();
});

function open({ connections }: { connections: number }): void {
  const { port } = service.address() as { port: number };
  upstream = createUpstream({
    url: `http://127.0.0.1:${port}`,
    health: undefined,
    onCircuitChange: () => {},
    connections,
    streamConnections: 16,
    maximumRequests: 64,
  });
}

const shared = { target: '/', headers: [], timeoutMilliseconds: 1000 };

function get(): Promise<unknown> {
  const request = { ...shared, method: 'GET', body: undefined, streaming: false };
  return upstream.send(request).reply;
}

/** The caller announces a body, sends a part of it and stalls. */
function stalledUpload(): Promise<unknown> {
  const stream = new PassThrough();
  stream.on('error', () => {});
  stream.write(Buffer.alloc(1000));
  const body = { stream, length: 100_000 };
  return upstream.send({ ...shared, method: 'POST', body, streaming: false }).reply;
}

const handshake = () =>
  upstream.upgrade({
    ...shared,
    headers: ['sec-websocket-key', 'dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-version', '13'],
  });

function many(call: () => Promise<unknown>): Promise<unknown> {
  return Promise.allSettled(Array.from({ length: TIMEOUTS + 1 }, call));
}

describe('the circuit stays closed', () => {
  test('when callers stall their uploads', async () => {
    await many(stalledUpload);
    expect(upstream.circuit).toBe('closed');
  });

  test('when requests expire together and another one was answered since they were sent', async () => {
    let received = 0;
    onRequest = () => {
      received += 1;
    };
    const silent = many(get);
    await until(() => received === TIMEOUTS + 1);
    onRequest = refuse;
    await get();
    await silent;
    expect(upstream.circuit).toBe('closed');
  });

  test('when requests expire while they wait for a connection', async () => {
    await upstream.close();
    open({ connections: 1 });
    await many(get);
    await until(() => upstream.load().requests.pending === 0);
    expect(upstream.circuit).toBe('closed');
  });
});

describe('an open circuit', () => {
  beforeEach(async () => {
    await many(get);
    expect(upstream.circuit).toBe('open');
  });

  test('lets the next request through when a stalled upload was the trial', async () => {
    let upload: Promise<unknown> | undefined;
    await until(() => {
      try {
        upload ??= stalledUpload();
      } catch {}
      return upload !== undefined;
    });
    onRequest = refuse;
    await get();
    expect(upstream.circuit).toBe('closed');
    await Promise.allSettled([upload]);
  });

  test('closes when the service answers a WebSocket handshake', async () => {
    onRequest = refuse;
    await until(async () => {
      await handshake().catch(() => {});
      return upstream.circuit === 'closed';
    });
  });
});

test('five unanswered WebSocket handshakes open the circuit', async () => {
  await many(handshake);
  expect(upstream.circuit).toBe('open');
});
