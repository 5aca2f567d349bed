import { createServer, type Server } from 'node:http';
import { Writable } from 'node:stream';
import { listen } from '@gatehouse/testing';
import { afterEach, describe, expect, test } from '@jest/globals';
import pino from 'pino';
import { createAddressMatcher, observedRequest, observeRequests } from '../src/index.ts';

let server: Server;
let lines: Record<string, unknown>[];

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function start(trustedProxies: readonly string[]): Promise<string> {
  lines = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(
        ...String(chunk)
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line)),
      );
      done();
    },
  });
  const logger = pino({ formatters: { level: (level) => ({ level }) } }, stream);
  const listener = observeRequests(
    (request, response) => response.end(observedRequest(request).id),
    logger,
    { isTrustedProxy: createAddressMatcher(trustedProxies) },
  );
  server = createServer(listener);
  return `http://127.0.0.1:${await listen(server)}`;
}

const warnings = () => lines.filter(({ level }) => level === 'warn');

describe('X-Forwarded-For', () => {
  test('of an untrusted peer causes one warning per process, which names TRUSTED_PROXIES', async () => {
    const url = await start(['192.0.2.0/24']);
    await fetch(url);
    expect(warnings()).toEqual([]);
    for (const address of ['203.0.113.1', '203.0.113.2']) {
      await fetch(url, { headers: { 'X-Forwarded-For': address } });
    }
    expect(warnings()).toMatchObject([
      { peer: '127.0.0.1', msg: expect.stringContaining('add its address to TRUSTED_PROXIES') },
    ]);
    expect(JSON.stringify(lines)).not.toContain('203.0.113');
  });
});

test('X-Request-Id of the client is the id of the request, and returned', async () => {
  const url = await start([]);
  const reply = await fetch(url, { headers: { 'X-Request-Id': 'trace-01' } });
  expect([await reply.text(), reply.headers.get('x-request-id')]).toEqual(['trace-01', 'trace-01']);
});
