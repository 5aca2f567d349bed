// runs alone: it has deadlines of seconds

import { createServer, type Server, type Socket } from 'node:net';
import { listen } from '@gatehouse/testing';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createStore, type Store, StoreUnavailableError } from '../../src/index.ts';

let server: Server | undefined;
let store: Store | undefined;
const sockets = new Set<Socket>();

afterEach(async () => {
  await store?.close();
  server?.close();
  for (const socket of sockets) {
    socket.destroy();
  }
  sockets.clear();
});

/** The part of INFO that the store and ioredis read. */
const report = 'loading:0\r\nmaxmemory_policy:noeviction\r\n';

/** Greets like Redis, then answers every command with the given bytes. */
async function startBrokenServer(reply: string): Promise<string> {
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      const words = data
        .toString()
        .match(/(?<=\r\n)(HELLO|CLIENT|INFO|hello|client|info)(?=\r\n)/g);
      if (words === null) {
        socket.write(reply);
        return;
      }
      for (const word of words) {
        socket.write(
          word.toLowerCase() === 'info' ? `$${report.length}\r\n${report}\r\n` : '+OK\r\n',
        );
      }
    });
  });
  return `redis://127.0.0.1:${await listen(server)}`;
}

test('the store accepts a server that greets like Redis and sends valid replies', async () => {
  store = createStore(await startBrokenServer('$5\r\nhello\r\n'));
  expect(await store.get('key')).toBe('hello');
});

describe('an invalid reply becomes StoreUnavailableError, and the process continues', () => {
  test.each([
    ['another protocol', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
    ['a reply that never ends', '$100\r\nshort'],
    ['a length that is not a number', '$abc\r\n'],
    ['a length that is far too large', '$99999999999999999999\r\n'],
    ['a number instead of a text', ':5\r\n'],
    ['an array instead of a text', '*2\r\n$1\r\na\r\n$1\r\nb\r\n'],
    ['an error', '-ERR broken\r\n'],
    ['no reply', ''],
  ])('%s', async (_name, reply) => {
    store = createStore(await startBrokenServer(reply));
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const started = performance.now();
      await expect(store.get('key')).rejects.toThrow(StoreUnavailableError);
      await expect(store.claim('key', 'owner', 60)).rejects.toThrow(StoreUnavailableError);
      const claims = ['a', 'b', 'c'].map((key) => store?.claim(key, 'owner', 60));
      for (const outcome of await Promise.allSettled(claims)) {
        const reason = expect.any(StoreUnavailableError);
        expect(outcome).toEqual({ status: 'rejected', reason });
      }
      // Each command has a deadline of 700 ms. The test itself also takes time.
      expect(performance.now() - started).toBeLessThan(3 * 1400);
    }
  });
});
