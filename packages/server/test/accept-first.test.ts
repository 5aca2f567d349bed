import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type RunningServer, serve } from '../src/server/serve.ts';

const CONNECTIONS = 64;
const REQUEST = 'GET / HTTP/1.1\r\nHost: test\r\n\r\n';

let server: RunningServer;
const sockets: Socket[] = [];

beforeAll(async () => {
  server = await serve((_request, response) => response.end('done'), {
    host: '127.0.0.1',
    port: 0,
  });
});
afterAll(async () => {
  for (const socket of sockets) {
    socket.destroy();
  }
  await server.close();
});

test('no request on a burst of new connections is overtaken by many others', async () => {
  // Without accept-first, the last connection is accepted after 64 turns of the event loop.
  const replies = Array.from({ length: CONNECTIONS }, () => 0);
  const overtaken: number[] = [];
  const allAnswered = Promise.withResolvers<void>();
  for (let index = 0; index < CONNECTIONS; index += 1) {
    const socket = connect(server.port, '127.0.0.1', () => socket.write(REQUEST));
    sockets.push(socket);
    socket.on('data', () => {
      if (replies[index] === 0) {
        overtaken.push(Math.max(...replies));
      }
      replies[index] = (replies[index] ?? 0) + 1;
      if (overtaken.length === CONNECTIONS) {
        allAnswered.resolve();
      } else {
        socket.write(REQUEST);
      }
    });
  }
  await allAnswered.promise;
  expect(Math.max(...overtaken)).toBeLessThan(CONNECTIONS / 4);
});

test('a request runs although connections keep arriving', async () => {
  let isAnswered = false;
  const flood = async () => {
    while (!isAnswered) {
      const socket = connect(server.port, '127.0.0.1');
      await once(socket, 'connect');
      socket.destroy();
    }
  };
  const floods = Array.from({ length: 8 }, flood);
  const socket = connect(server.port, '127.0.0.1', () => socket.write(REQUEST));
  sockets.push(socket);
  const [reply] = await once(socket, 'data');
  isAnswered = true;
  await Promise.all(floods);
  expect(String(reply)).toMatch(/^HTTP\/1\.1 200 /);
});
