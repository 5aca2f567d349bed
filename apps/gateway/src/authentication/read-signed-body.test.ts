import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { type HeldBody, readSignedBody } from './held-bodies.ts';

let calls: string[] = [];
const held = {
  begin: () => calls.push('begin'),
  grow: (bytes: number) => calls.push(`grow ${bytes}`),
  complete: () => calls.push('complete'),
  release: () => calls.push('release'),
} as unknown as HeldBody;

afterEach(() => {
  calls = [];
});

/** Sends a body of this length, and returns what the reader returns or throws. */
async function read(length: number, limitBytes: number): Promise<unknown> {
  const result = Promise.withResolvers<unknown>();
  const server = createServer((message, response) => {
    void readSignedBody(message, limitBytes, held)
      .then(String, (error: unknown) => error)
      .then(result.resolve)
      .finally(() => response.end());
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const sent = request({ host: '127.0.0.1', port, method: 'POST', agent: false });
  sent.on('error', () => {});
  // In two pieces and without a length, so that the announced length rejects nothing.
  sent.write('x'.repeat(length - 1));
  sent.end('x');
  try {
    return await result.promise;
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test('A body that has arrived is complete, so that it cannot be evicted while it is verified.', async () => {
  expect(await read(10, 10)).toBe('x'.repeat(10));
  expect(calls.at(0)).toBe('begin');
  expect(calls.at(-1)).toBe('complete');
  const grown = calls
    .filter((call) => call.startsWith('grow'))
    .map((call) => Number(call.slice(5)));
  expect(grown.reduce((sum, bytes) => sum + bytes, 0)).toBe(10);
});

test('A body over the limit is rejected and never complete.', async () => {
  expect(await read(11, 10)).toMatchObject({ code: 'payload_too_large' });
  expect(calls).not.toContain('complete');
});
