// cspell:ignore begunended
import type { RequestListener, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@gatehouse/testing';
import { afterAll, describe, expect, test } from '@jest/globals';
import { type RunningServer, serve } from '../src/index.ts';
import { openRawConnection } from './raw-connection.ts';

const GET = 'GET / HTTP/1.1\r\nHost: test\r\n\r\n';
const servers: RunningServer[] = [];

async function start(listener: RequestListener, drainMilliseconds = 20_000) {
  const server = await serve(listener, { host: '127.0.0.1', port: 0, drainMilliseconds });
  servers.push(server);
  return { ...server, connect: () => openRawConnection(server.port) };
}

afterAll(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

describe('a connection with ambiguous framing', () => {
  test.concurrent.each([
    ['HTTP/1.0', 'chunked'],
    ['HTTP/1.1', 'gzip, chunked'],
  ])(
    'CWE-444 of %s with Transfer-Encoding: %s, passes no later request to the listener',
    async (version, encoding) => {
      const seen: unknown[] = [];
      const server = await start((request, response) => {
        seen.push(request.url);
        // Sends no Connection header, after all requests have been parsed.
        setTimeout(() => response.writeHead(400, { 'Content-Length': '0' }).end(), 50);
      });
      const connection = server.connect();
      connection.send(
        `${GET}POST /doubt ${version}\r\nHost: test\r\nConnection: keep-alive\r\n` +
          `Transfer-Encoding: ${encoding}\r\n\r\n0\r\n\r\n${GET.repeat(2)}`,
      );
      const replies = (await connection.ended()).match(/HTTP\/1\.1 400|connection: close/gi);
      expect(replies).toEqual(['HTTP/1.1 400', 'HTTP/1.1 400', 'Connection: close']);
      expect(seen).toEqual(['/', '/doubt']);
    },
  );
});

describe('closing a server', () => {
  test.concurrent('replies to every request of a started pipeline, including one after the signal', async () => {
    const waiting: ServerResponse[] = [];
    const server = await start((_request, response) => {
      waiting.push(response);
    });
    const connection = server.connect();
    connection.send(GET.repeat(2));
    await until(() => waiting.length === 2);
    const closed = server.close();
    connection.send(GET);
    await until(() => waiting.length === 3);
    for (const response of waiting) {
      response.end('done');
    }
    await closed;
    const [, ...replies] = (await connection.ended()).split('HTTP/1.1 200 OK');
    expect(replies).toHaveLength(3);
    const closing = replies.map((reply) => /\r\nConnection: close\r\n/i.test(reply));
    expect(closing).toEqual([false, false, true]);
  });

  test.concurrent('replies to a request in transit on an idle connection', async () => {
    const server = await start((_request, response) => response.end('done'));
    const connection = server.connect();
    connection.send(GET);
    await connection.until('done');
    const closed = server.close();
    await sleep(50);
    connection.send(GET);
    await closed;
    const replies = (await connection.ended()).split('HTTP/1.1 200 OK');
    expect(replies).toHaveLength(3);
    expect(replies[1]).toMatch(/connection: keep-alive/i);
    expect(replies[2]).toMatch(/connection: close/i);
  });

  test.concurrent('accepts no new connections', async () => {
    const server = await start((_request, response) => {
      setTimeout(() => response.end('done'), 300);
    });
    const first = server.connect();
    first.send(GET);
    await sleep(50);
    const closed = server.close();
    // Connections of the same moment are still accepted.
    await sleep(50);
    const late = server.connect();
    late.send(GET);
    expect(await late.ended()).toBe('');
    await closed;
    expect(await first.ended()).toMatch(/done$/);
  });

  test.concurrent('loses no reply of twenty busy clients', async () => {
    const server = await start((_request, response) => {
      setTimeout(() => response.end('done'), Math.random() * 20);
    });
    const clients = Array.from({ length: 20 }, () => server.connect());
    const asking = clients.map(async (client) => {
      for (let asked = 1; ; asked += 1) {
        client.send(GET);
        const replies = () => client.received().split(/\r\n\r\ndone/).length - 1;
        while (replies() < asked) {
          if (client.socket.destroyed) {
            return { asked, replies: replies() };
          }
          await sleep(2);
        }
        if (/connection: close/i.test(client.received())) {
          return { asked, replies: replies() };
        }
      }
    });
    await until(() => clients.every((client) => client.received().split('done').length > 2));
    await server.close();
    for (const { asked, replies } of await Promise.all(asking)) {
      expect(asked).toBeGreaterThan(1);
      expect(replies).toBe(asked);
    }
  });
});

describe('invalid HTTP', () => {
  const ok: RequestListener = (request, response) => {
    request.resume();
    request.on('end', () => response.end('reached'));
  };

  test.concurrent.each([
    ['one header of 17 KB', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'b'.repeat(17_000)}\r\n\r\n`],
    ['a URL of 20 KB', `GET /${'b'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`],
    ['headers of 1 MB', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'b'.repeat(1_000_000)}\r\n\r\n`],
    [
      '1,001 headers with X-Sign last',
      `GET / HTTP/1.1\r\nHost: a\r\n${'a: b\r\n'.repeat(1000)}X-Sign: 1\r\n\r\n`,
    ],
  ])('is rejected with 431 for %s, and the connection closes', async (_name, text) => {
    const server = await start(ok);
    const connection = server.connect();
    connection.send(text);
    const reply = await connection.until(/\r\n\r\n\{.*\}$/);
    expect(reply).toMatch(/^HTTP\/1\.1 431 /);
    expect(reply).toMatch(/\r\nConnection: close\r\n/);
    const body = JSON.parse(reply.split('\r\n\r\n')[1] ?? '');
    expect(body).toMatchObject({ status: 431, code: 'headers_too_large' });
    await connection.ended();
  });

  const post = (headers: string, body: string) =>
    `POST / HTTP/1.1\r\nHost: test\r\n${headers}\r\n\r\n${body}`;
  test.concurrent.each([
    ['CL and TE', post('Content-Length: 3\r\nTransfer-Encoding: chunked', '0\r\n\r\n')],
    ['TE and CL', post('Transfer-Encoding: chunked\r\nContent-Length: 3', '0\r\n\r\n')],
    ['TE: xchunked', post('Transfer-Encoding: xchunked', '0\r\n\r\n')],
    ['a space before the colon', post('Transfer-Encoding : chunked', '0\r\n\r\n')],
    ['chunked not last', post('Transfer-Encoding: chunked, identity', '0\r\n\r\n')],
    ['Content-Length twice', post('Content-Length: 3\r\nContent-Length: 4', 'abcd')],
    ['a signed length', post('Content-Length: +3', 'abc')],
    ['a list of lengths', post('Content-Length: 3, 3', 'abc')],
    ['a folded header', 'GET / HTTP/1.1\r\nHost: test\r\nA: b\r\n c\r\n\r\n'],
    ['NUL in a header', 'GET / HTTP/1.1\r\nHost: test\r\nA: b\0c\r\n\r\n'],
    ['a bare CR in a header', 'GET / HTTP/1.1\r\nHost: test\r\nA: b\rc\r\n\r\n'],
    ['bare line feeds', 'GET / HTTP/1.1\nHost: test\n\n'],
    ['a negative chunk', post('Transfer-Encoding: chunked', '-1\r\na\r\n0\r\n\r\n')],
    ['no Host', 'GET / HTTP/1.1\r\n\r\n'],
    ['HTTP/1.9', 'GET / HTTP/1.9\r\nHost: test\r\n\r\n'],
    ['a method in lower case', 'get / HTTP/1.1\r\nHost: test\r\n\r\n'],
  ])('is rejected with 400 for %s, and the connection closes', async (_name, text) => {
    const server = await start(ok);
    const connection = server.connect();
    connection.send(text + GET);
    const reply = await connection.ended();
    expect(reply).toMatch(/^HTTP\/1\.1 400 /);
    expect(reply).not.toContain('reached');
    expect(reply.match(/HTTP\/1\.1 \d{3} /g)).toHaveLength(1);
  });

  test.concurrent.each([
    'GET / HTTP/1.0\r\nHost: test\r\n\r\n',
    'GET / HTTP/1.0\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n',
  ])('after the last request of a connection does not affect its reply: %j', async (last) => {
    const server = await start((_request, response) => {
      setTimeout(() => response.end('reached'), 50);
    });
    const connection = server.connect();
    connection.send(`${last}${GET}`);
    await sleep(20);
    connection.send(GET);
    const reply = await connection.ended();
    expect(reply).toMatch(/^HTTP\/1\.1 200 /);
    expect(reply).toMatch(/reached$/);
    expect(reply.match(/HTTP\/1\.1 \d{3} /g)).toHaveLength(1);
  });

  test.concurrent.each(['begun', ''])(
    'does not affect the replies to earlier requests, of which %j was sent',
    async (begun) => {
      const server = await start((_request, response) => {
        if (begun !== '') {
          response.write(begun);
        }
        setTimeout(() => response.end('ended'), 200);
      });
      const connection = server.connect();
      connection.send(`${GET}${GET}BAD\r\n\r\n`);
      const reply = await connection.ended();
      expect(reply.match(/HTTP\/1\.1 200 /g)).toHaveLength(2);
      expect(reply.match(/ended/g)).toHaveLength(2);
      expect(reply).not.toContain('400');
    },
  );

  test.concurrent('does not hold the connection of a peer that never closes its side', async () => {
    const server = await start(ok);
    const connection = server.connect();
    connection.socket.allowHalfOpen = true;
    connection.send('BAD\r\n\r\n');
    await connection.until('illegal_argument');
    const beats = setInterval(() => connection.send('more\r\n'), 50);
    await connection.ended();
    clearInterval(beats);
  });
});
