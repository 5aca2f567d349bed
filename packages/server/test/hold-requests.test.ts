import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { acceptFirst, trackConnections } from '../src/server/connections.ts';
import { createClientErrorHandler } from '../src/server/malformed-input.ts';
import { openRawConnection } from './raw-connection.ts';

const server = createServer();
const begun: (string | undefined)[] = [];
const listener: RequestListener = ({ url }, response) => {
  begun.push(url);
  response.end('done');
};
const { start, hold } = acceptFirst(server, listener);

beforeAll(async () => {
  server.on('request', start);
  server.on(
    'clientError',
    createClientErrorHandler(trackConnections(server), () => undefined),
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function say(text: string) {
  const connection = openRawConnection((server.address() as AddressInfo).port);
  connection.send(text);
  return connection;
}

test('each held request starts once, unless its client disconnected or was rejected', async () => {
  const release = hold();
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`;
  const whole = say(get('/whole'));
  const left = say(get('/left'));
  const head = 'HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n';
  const refused = say(`POST /refused ${head}no chunk\r\n`);
  refused.socket.allowHalfOpen = true;
  await refused.until('HTTP/1.1 400 ');
  left.socket.resetAndDestroy();
  await sleep(50);
  expect(begun).toEqual([]);

  release();
  await whole.until('done');
  expect(begun).toEqual(['/whole']);
  refused.socket.end();
  expect((await refused.ended()).match(/HTTP\/1\.1 \d{3} /g)).toEqual(['HTTP/1.1 400 ']);

  await say(get('/later')).until('done');
  expect(begun).toEqual(['/whole', '/later']);
});
