import { once } from 'node:events';
import { get as getByNode } from 'node:http';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { until } from '@gatehouse/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Exchange, ReplyController } from '../src/upstream/connection.ts';
import { ConnectionPool } from '../src/upstream/connection-pool.ts';

/** A service that answers with raw bytes. */
let answer: (socket: Socket, request: string) => void;
let sockets: Socket[];
let service: Server;
let url: URL;

beforeEach(async () => {
  sockets = [];
  service = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    socket.on('data', (data) => answer(socket, data.toString('latin1')));
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  url = new URL(`http://127.0.0.1:${(service.address() as { port: number }).port}`);
});
afterEach(() => {
  for (const socket of sockets) {
    socket.destroy();
  }
  service.close();
});

const get = { method: 'GET', path: '/', headers: [], body: undefined };

interface Outcome {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: string;
}

function open(connections = 2, maximumAgeMilliseconds = 60_000): ConnectionPool {
  return new ConnectionPool({
    url,
    connections,
    connectTimeoutMilliseconds: 5000,
    maximumAgeMilliseconds,
  });
}

/** Runs one exchange, which `begun` may cancel. */
function ask(
  pool: ConnectionPool,
  request: { path?: string; method?: string; headers?: readonly string[] } = {},
  begun: (controller: ReplyController) => void = () => {},
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const outcome = { status: 0, headers: [] as readonly string[], body: '' };
    const exchange: Exchange = {
      request: { ...get, ...request },
      onRequestStart: begun,
      onResponseHead: (_controller, status, headers) => Object.assign(outcome, { status, headers }),
      onResponseData: (_controller, chunk) => {
        outcome.body += chunk.toString('latin1');
      },
      onResponseEnd: () => resolve(outcome),
      onResponseError: (_controller, error) => reject(error),
    };
    pool.send(exchange);
  });
}

const whole = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

describe('connections to a service', () => {
  test('are reused, one exchange at a time', async () => {
    let atOnce = 0;
    answer = async (socket, request) => {
      atOnce += 1;
      expect(request.match(/HTTP\/1\.1/g)).toHaveLength(1);
      await sleep(2);
      socket.write(whole(request.slice(0, request.indexOf(' HTTP'))));
      atOnce -= 1;
    };
    const pool = open(2);
    const paths = Array.from({ length: 40 }, (_, index) => `/${index}`);
    const replies = await Promise.all(paths.map((path) => ask(pool, { path })));

    expect(replies.map(({ body }) => body)).toEqual(paths.map((path) => `GET ${path}`));
    expect(sockets).toHaveLength(2);
    expect(atOnce).toBe(0);
    await pool.close();
  });

  test('take turns, so that every server behind a balancer gets requests', async () => {
    const requests = new Map<Socket, number>();
    const begun: (() => void)[] = [];
    answer = (socket) => {
      requests.set(socket, 0);
      begun.push(() => socket.write(whole('{}')));
    };
    const pool = open(4);
    const first = Promise.all([1, 2, 3, 4].map(() => ask(pool)));
    await until(() => expect(begun).toHaveLength(4));
    answer = (socket) => {
      requests.set(socket, (requests.get(socket) ?? 0) + 1);
      socket.write(whole('{}'));
    };
    for (const reply of begun) {
      reply();
    }
    await first;
    await until(() => expect(pool.load).toMatchObject({ connected: 4, free: 4 }));
    for (let count = 0; count < 40; count += 1) {
      await ask(pool);
      // A connection is free again when everything that was on its way has been read.
      await until(() => expect(pool.load.free).toBe(4));
    }
    expect([...requests.values()]).toEqual([10, 10, 10, 10]);
    await pool.close();
  });

  test('close at their maximum age, between two requests', async () => {
    answer = (socket) => socket.write(whole('{}'));
    const pool = open(1, 20);
    await until(async () => {
      expect(await ask(pool)).toMatchObject({ status: 200, body: '{}' });
      expect(sockets.length).toBeGreaterThan(3);
    });
    // One that is not used closes, too.
    const last = sockets.at(-1);
    await until(() => expect(last?.closed).toBe(true));
    await pool.close();
  });

  test('read replies whose parts arrive alternately', async () => {
    const chunked = (text: string) =>
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
    const bodies = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(3000));
    const waiting: { readonly socket: Socket; rest: string }[] = [];
    answer = (socket, request) => {
      const body = bodies[Number(request.slice('GET /'.length, 'GET /'.length + 1))] ?? '';
      waiting.push({ socket, rest: waiting.length % 2 === 0 ? whole(body) : chunked(body) });
    };
    const pool = open(bodies.length);
    const replies = Promise.all(bodies.map((_, index) => ask(pool, { path: `/${index}` })));
    await until(() => expect(waiting).toHaveLength(bodies.length));
    for (let part = 1; waiting.some(({ rest }) => rest !== ''); part = (part * 7) % 251) {
      for (const each of waiting) {
        each.socket.write(each.rest.slice(0, part));
        each.rest = each.rest.slice(part);
      }
      await nextTurn();
    }

    expect((await replies).map(({ body }) => body)).toEqual(bodies);
    await pool.close();
  });

  test('are not used if they are closed but the close event is still pending', async () => {
    answer = (socket) => socket.write(whole('{}'));
    const pool = open(1);
    await ask(pool);
    const caller = connect(Number(url.port), '127.0.0.1');
    await once(caller, 'connect');
    await sleep(20);
    const next = new Promise<Outcome>((resolve, reject) => {
      caller.once('data', () => ask(pool).then(resolve, reject));
    });
    // Both are read in one turn of the event loop, before the close event.
    const [used, peerOfCaller] = sockets;
    used?.write('what nobody asked for');
    peerOfCaller?.write('the next request');

    expect((await next).status).toBe(200);
    expect(sockets).toHaveLength(3);
    caller.destroy();
    await pool.close();
  });

  test('UP-11 skip interim replies, also to HEAD', async () => {
    answer = (socket) =>
      socket.write(
        'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n',
      );
    const pool = open(1);
    expect((await ask(pool, { method: 'HEAD' })).status).toBe(200);
    await pool.close();
  });

  test('announce an empty body for methods that allow a body', async () => {
    const seen: string[] = [];
    answer = (socket, request) => {
      seen.push(request.toLowerCase());
      socket.write(whole('{}'));
    };
    const pool = open(1);
    for (const method of ['POST', 'GET']) {
      await ask(pool, { method });
    }
    expect(seen[0]).toContain('\r\ncontent-length: 0\r\n\r\n');
    expect(seen[1]).not.toContain('content-length');
    await pool.close();
  });

  test.each([
    ['with the reply', 0],
    ['later', 30],
  ])('GW-16 CWE-444 close if a service sends more than its reply %s', async (_name, delay) => {
    const smuggled = whole('smuggled');
    answer = async (socket) => {
      if (delay === 0) {
        socket.write(whole('{}') + smuggled);
      } else {
        socket.write(whole('{}'));
        await sleep(delay);
        socket.write(smuggled);
      }
    };
    const pool = open(1);
    const first = ask(pool).catch(({ message }: Error) => message);
    expect(await first).toEqual(
      delay === 0
        ? 'The reply is longer than announced.'
        : expect.objectContaining({ body: '{}', status: 200 }),
    );
    const [used] = sockets;
    if (used?.closed === false) {
      await once(used, 'close');
    }
    answer = (socket) => socket.write(whole('own'));

    expect((await ask(pool)).body).toBe('own');
    expect(sockets).toHaveLength(2);
    await pool.close();
  });

  test('CWE-444 close if bytes follow a reply without a body', async () => {
    const smuggled = whole('smuggled');
    answer = (socket) => socket.write(`HTTP/1.1 204 No Content\r\n\r\n${smuggled}`);
    const pool = open(1);
    expect((await ask(pool)).status).toBe(204);
    answer = (socket) => socket.write(whole('own'));

    expect((await ask(pool)).body).toBe('own');
    expect(sockets).toHaveLength(2);
    await pool.close();
  });

  test('CWE-444 are not reused before the bytes that arrived during the last reply are read', async () => {
    answer = (socket) => socket.write(whole('first'));
    const pool = open(1);
    const second = Promise.withResolvers<string>();
    await new Promise<void>((resolve, reject) => {
      pool.send({
        request: get,
        onRequestStart() {
          // This request waits for the only connection.
          ask(pool).then(({ body }) => second.resolve(body), second.reject);
        },
        onResponseHead() {},
        onResponseData() {},
        onResponseEnd() {
          answer = (socket) => socket.write(whole('second'));
          // The loopback interface delivers the bytes at once. The next turn of the event loop
          // reads them.
          sockets[0]?.write(whole('smuggled'));
          resolve();
        },
        onResponseError: (_controller, error) => reject(error),
      });
    });

    expect(await second.promise).toBe('second');
    expect(sockets).toHaveLength(2);
    await pool.close();
  });

  test('close with a canceled exchange, and a waiting request gets another connection', async () => {
    answer = () => {};
    const pool = open(1);
    let controller: ReplyController | undefined;
    const canceled = ask(pool, {}, (given) => {
      controller = given;
    });
    const waiting = ask(pool);
    await sleep(20);
    answer = (socket) => socket.write(whole('own'));
    controller?.abort(new Error('The caller left.'));

    await expect(canceled).rejects.toThrow('The caller left.');
    expect((await waiting).body).toBe('own');
    await pool.close();
  });

  test('send nothing of a request that was canceled while it waited', async () => {
    let requests = 0;
    answer = async (socket) => {
      requests += 1;
      await sleep(20);
      socket.write(whole('{}'));
    };
    const pool = open(1);
    const first = ask(pool);
    const canceled = ask(pool, {}, (given) => given.abort(new Error('Too late.')));

    await expect(canceled).rejects.toThrow('Too late.');
    expect((await first).body).toBe('{}');
    expect((await ask(pool)).body).toBe('{}');
    expect([requests, sockets.length]).toEqual([2, 1]);
    await pool.close();
  });

  test('stop reading a reply while its caller does not read', async () => {
    const size = 8 * 1024 * 1024;
    answer = (socket) => socket.write(whole('x'.repeat(size)));
    const pool = open(1);
    let received = 0;
    const paused = Promise.withResolvers<ReplyController>();
    const ended = new Promise<void>((resolve, reject) => {
      pool.send({
        request: get,
        onRequestStart: () => undefined,
        onResponseHead: (given) => {
          given.pause();
          paused.resolve(given);
        },
        onResponseData: (_controller, chunk) => {
          received += chunk.length;
        },
        onResponseEnd: () => resolve(),
        onResponseError: (_controller, error) => reject(error),
      });
    });
    const controller = await paused.promise;
    await sleep(50);
    expect(received).toBeLessThan(64 * 1024);
    controller.resume();
    await ended;

    expect(received).toBe(size);
    answer = (socket) => socket.write(whole('next'));
    expect((await ask(pool)).body).toBe('next');
    await pool.close();
  });

  test.each([
    { path: '/a b' },
    { path: '/a\r\nX: y' },
    { headers: ['x', 'y\r\nz: 1'] },
    { headers: ['x', 'y\0'] },
    { headers: ['x', '\u010d'] },
  ])('CWE-93 never send %j', async (request) => {
    let seen = '';
    answer = (socket, text) => {
      seen += text;
      socket.write(whole('{}'));
    };
    const pool = open(1);

    await expect(ask(pool, request)).rejects.toThrow(/contains a character/);
    expect((await ask(pool)).body).toBe('{}');
    expect(seen.match(/HTTP\/1\.1/g)).toHaveLength(1);
    await pool.close();
  });
});

describe('a reply, read by the gateway and by llhttp', () => {
  const replies = [
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: 1\r\n\r\nhello',
    'HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: 1\r\n\r\n',
    'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}',
    'HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nuntil the end',
    'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\nKeep-Alive: timeout=5\r\n\r\n',
  ];
  const put = fc.constantFrom(
    '',
    '\r',
    '\n',
    '\r\n',
    ' ',
    '\t',
    ':',
    ',',
    ';',
    '0',
    '1',
    'a',
    '\0',
    '\xa0',
    '-',
    '+',
  );
  const change = fc.tuple(fc.nat(110), fc.constantFrom(0, 1), put);
  const anyReply = fc
    .tuple(fc.constantFrom(...replies), fc.array(change, { minLength: 1, maxLength: 3 }))
    .map(([text, changes]) =>
      changes.reduce((all, [at, cut, text]) => all.slice(0, at) + text + all.slice(at + cut), text),
    );

  function readByNode(): Promise<Omit<Outcome, 'headers'> | undefined> {
    return new Promise((resolve) => {
      const request = getByNode(url, { agent: false }, (reply) => {
        let body = '';
        reply.setEncoding('latin1');
        reply.on('data', (text: string) => {
          body += text;
        });
        reply.on('error', () => resolve(undefined));
        reply.on('end', () => resolve({ status: reply.statusCode ?? 0, body }));
      });
      request.on('error', () => resolve(undefined));
    });
  }

  test('UP-07 is never complete for the gateway and different for llhttp', async () => {
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(anyReply, async (text) => {
        answer = (socket) => socket.end(text, 'latin1');
        const pool = open(1);
        const ours = await ask(pool).catch(() => undefined);
        await pool.close();
        // Node's client fails if bytes follow a reply. The gateway keeps them after a reply without
        // a body.
        if (ours !== undefined && ours.status !== 204) {
          accepted += 1;
          const theirs = await readByNode();
          expect([ours.status, ours.body]).toEqual([theirs?.status, theirs?.body]);
        }
      }),
      { numRuns: 3000, seed: 1 },
    );
    // Otherwise, nothing was compared.
    expect(accepted).toBeGreaterThan(100);
  });
});
