import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { repetitions } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { sendRaw } from './http-client.ts';
import { bootSuiteGateway } from './suite-gateway.ts';

const gateway = await bootSuiteGateway();
const good = await gateway.bearer();
const authorization = `Authorization: ${good.Authorization}\r\n`;

/** Creates a device with a good token, so that only the framing can cause an error. */
function post(head: string, body: string, version = '1.1'): Promise<string> {
  return sendRaw(
    gateway.port,
    Buffer.from(
      `POST /device-instance HTTP/${version}\r\nHost: g\r\n${authorization}` +
        `Content-Type: application/json\r\n${head}\r\n${body}`,
      'latin1',
    ),
  );
}

const get = (lines: string, path = '/api/device') =>
  sendRaw(gateway.port, `GET ${path} HTTP/1.1\r\n${lines}${authorization}\r\n`);

async function expectHealthy(): Promise<void> {
  expect((await gateway.send('/api/device', { headers: good })).status).toBe(200);
}

describe('the framing of a body', () => {
  const chunked = '2\r\n{}\r\n0\r\n\r\n';
  test.each([
    ['Content-Length: 2\r\nTransfer-Encoding: chunked\r\n', chunked],
    ['Transfer-Encoding: chunked\r\nContent-Length: 2\r\n', chunked],
    ['Transfer-Encoding: xchunked\r\n', chunked],
    ['Transfer-Encoding : chunked\r\n', chunked],
    ['Transfer-Encoding: chunked, identity\r\n', chunked],
    ['Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', chunked],
    ['Transfer-Encoding:\x0bchunked\r\n', chunked],
    ['Transfer-Encoding: gzip, chunked\r\n', chunked],
    ['Content-Length: 2\r\nContent-Length: 2\r\n', '{}'],
    ['Content-Length: 2\r\nContent-Length: 3\r\n', '{}'],
    ['Content-Length: +2\r\n', '{}'],
    ['Content-Length: 2, 2\r\n', '{}'],
    ['Content-Length: 0x2\r\n', '{}'],
    ['Content-Length: -1\r\n', '{}'],
    ['Content-Length: 99999999999999999999\r\n', '{}'],
    ['X-A: b\nX-C: d\r\nContent-Length: 2\r\n', '{}'],
    ['X-A: b\rX-C: d\r\nContent-Length: 2\r\n', '{}'],
    ['X-A: b\0c\r\nContent-Length: 2\r\n', '{}'],
    ['X-A: b\r\n c\r\nContent-Length: 2\r\n', '{}'],
    ['X A: b\r\nContent-Length: 2\r\n', '{}'],
    ['Transfer-Encoding: chunked\r\n', '2\n{}\r\n0\r\n\r\n'],
    ['Transfer-Encoding: chunked\r\n', '-2\r\n{}\r\n0\r\n\r\n'],
    ['Transfer-Encoding: chunked\r\n', 'ffffffffffffffffff\r\n{}\r\n0\r\n\r\n'],
    ['Transfer-Encoding: chunked\r\n', `2;${'x'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`],
    ['Transfer-Encoding: chunked\r\n', '2\r\n{}X\r\n0\r\n\r\n'],
  ])('is rejected, and the connection is closed: %j', async (head, body) => {
    const reply = await post(head, body);
    // If the head was good, the connection may break instead. There is never a positive answer.
    expect(reply === '' || /^HTTP\/1\.1 (400|413|501) /.test(reply)).toBe(true);
    expect(reply.match(/HTTP\/1\.1 /g)?.length ?? 0).toBeLessThanOrEqual(1);
    expect(gateway.upstream.requests).toEqual([]);
    await expectHealthy();
  });

  test('CWE-444 rejects Transfer-Encoding in HTTP/1.0 and reads no second request from its body', async () => {
    const smuggled = `POST /device-instance HTTP/1.1\r\nHost: g\r\n${authorization}Content-Length: 2\r\n\r\n{}`;
    for (const body of [chunked, `${chunked}${smuggled}`]) {
      const head = 'Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n';
      const reply = await post(head, body, '1.0');
      expect(reply).toMatch(/^HTTP\/1\.1 400 .*Transfer-Encoding: needs HTTP\/1\.1/s);
      expect(reply).toMatch(/\r\nconnection: close\r\n/i);
      expect(reply.match(/HTTP\/1\.1 [1-5]/g)).toHaveLength(1);
    }
    expect(gateway.upstream.requests).toEqual([]);
  });

  test('may be a length in HTTP/1.0', async () => {
    expect(await post('Content-Length: 2\r\n', '{}', '1.0')).toMatch(/^HTTP\/1\.1 200 /);
  });

  test('never turns trailers into headers', async () => {
    const trailers = 'X-User-Id: admin\r\nAuthorization: Bearer x\r\nX-Sign: 00\r\n';
    const reply = await post(
      'Transfer-Encoding: chunked\r\nTrailer: X-User-Id\r\nConnection: close\r\n',
      `2\r\n{}\r\n0\r\n${trailers}\r\n`,
    );
    expect(reply).toMatch(/^HTTP\/1\.1 200 /);
    const { rawHeaders, body } = gateway.upstream.last();
    expect(JSON.stringify(rawHeaders)).not.toMatch(/x-user-id|x-sign|Bearer x/i);
    expect(body.toString()).toBe('{}');
  });

  test('CWE-444 never sends a caller the reply to another caller', async () => {
    // Every reply names its request, so that a desynchronized pair becomes visible.
    gateway.upstream.answerWith((request, response) => {
      request.resume();
      request.on('end', () => response.end(`${request.url} ${request.headers['user-agent']}`));
    });
    const smuggled = 'GET /api/device?smuggled HTTP/1.1\r\nHost: g\r\nUser-Agent: smuggled\r\n\r\n';
    const { length } = smuggled;
    const framings = [
      `Content-Length: ${length}\r\n\r\n${smuggled}`,
      `Transfer-Encoding: chunked\r\n\r\n${length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`,
    ];
    for (let round = 0; round < repetitions(200); round += 1) {
      const socket = connect(gateway.port, '127.0.0.1').on('error', () => {});
      socket.write(
        `POST /device-instance HTTP/1.1\r\nHost: g\r\n${authorization}${framings[round % 2]}`,
      );
      const victims = Array.from({ length: 5 }, async (_, index) => {
        const headers = { ...good, 'User-Agent': `victim-${index}` };
        const path = `/api/device?who=${round}-${index}`;
        const { body } = await gateway.send(path, { headers });
        expect(body.toString()).toBe(`${path} victim-${index}`);
      });
      await Promise.all(victims);
      socket.destroy();
    }
    expect(gateway.upstream.requests.map(({ url }) => url)).not.toContain('/api/device?smuggled');
  });

  test('keeps the replies to pipelined requests in order', async () => {
    let answerSlow = () => {};
    gateway.upstream.answerWith(({ url }, response) => {
      if (url === '/api/device?slow') {
        answerSlow = () => response.end(url);
      } else {
        response.end(url);
        answerSlow();
      }
    });
    const one = (query: string, end = '') =>
      `GET /api/device?${query} HTTP/1.1\r\nHost: g\r\n${end}${authorization}\r\n`;
    const close = 'Connection: close\r\n';
    const replies = await sendRaw(gateway.port, one('slow') + one('a') + one('b', close));
    const order = [...replies.matchAll(/\/api\/device\?(slow|a|b)/g)].map(([, name]) => name);
    expect(order).toEqual(['slow', 'a', 'b']);
  });
});

describe('the head of a request', () => {
  test.each(['g.example:99999999', 'user@g.example', 'g.example/path', '', 'g example', 'g.x,h.x'])(
    'is rejected with the Host %j',
    async (host) => {
      expect(await get(`Host: ${host}\r\n`)).toMatch(/^HTTP\/1\.1 400 /);
      expect(gateway.upstream.requests).toEqual([]);
    },
  );

  test.each(['gateway', 'gateway:8844', '127.0.0.1:80', '[::1]:8844', 'g_w.example'])(
    'is accepted with the Host %j',
    async (host) => {
      expect(await get(`Host: ${host}\r\nConnection: close\r\n`)).toMatch(/^HTTP\/1\.1 200 /);
    },
  );

  test('is rejected in HTTP/1.1 without a Host', async () => {
    expect(await get('')).toMatch(/^HTTP\/1\.1 400 .*"illegal_argument"/s);
    expect(gateway.logLines().at(-1)).toMatchObject({ status: 400, reason: 'http_invalid' });
  });

  test('is accepted in HTTP/1.0, and the connection is closed', async () => {
    const one = `GET /api/device HTTP/1.0\r\n${authorization}\r\n`;
    expect(await sendRaw(gateway.port, one)).toMatch(/^HTTP\/1\.1 200 .*connection: close/is);
    // Bytes that follow on a closing connection are not a request.
    const two = await sendRaw(gateway.port, one + one).catch(() => '');
    expect(two.match(/HTTP\/1\.1 /g)?.length ?? 0).toBeLessThanOrEqual(1);
    expect(gateway.upstream.requests.length).toBeLessThanOrEqual(2);
  });

  test.each([
    'GET /api/device\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'GET /api/device HTTP/1.9\r\nHost: g\r\n\r\n',
    'GET /api/device HTTP/2.0\r\nHost: g\r\n\r\n',
    'GET /api/device HTTP/9\r\nHost: g\r\n\r\n',
    'GET  /api/device  HTTP/1.1\r\nHost: g\r\n\r\n',
    'GET /api/device HTTPS/1.1\r\nHost: g\r\n\r\n',
  ])('is rejected if it begins with %j', async (text) => {
    const reply = await sendRaw(gateway.port, text);
    expect(reply === '' || /^HTTP\/1\.1 (400|401|405|505) /.test(reply)).toBe(true);
    expect(gateway.upstream.requests).toEqual([]);
    await expectHealthy();
  });

  test('with too many, too large or unusual headers is never misread', async () => {
    const many = (count: number) => 'a: b\r\n'.repeat(count);
    expect(await get(`Host: g\r\n${many(90)}Connection: close\r\n`)).toMatch(/^HTTP\/1\.1 200 /);
    for (const count of [99, 1000]) {
      expect(await get(`Host: g\r\n${many(count)}`)).toMatch(/^HTTP\/1\.1 431 /);
    }
    expect(await get(`Host: g\r\nX-Long: ${'a'.repeat(17 * 1024)}\r\n`)).toMatch(/ 431 /);
    expect(await get('Host: g\r\n', `/api/device?${'a'.repeat(20 * 1024)}`)).toMatch(/ 431 /);
    const unusual = 'Host: g\r\n__proto__: x\r\nconstructor: y\r\nConnection: close\r\n';
    expect(await get(unusual)).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe('Expect: 100-continue', () => {
  const head = 'POST /device-instance HTTP/1.1\r\nHost: g\r\nExpect: 100-continue\r\n';
  const linesOf = (headers: Record<string, string>) =>
    Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('');

  test('gets an error before the gateway requests the body', async () => {
    const length = 'Content-Length: 104857600\r\nConnection: close\r\n\r\n';
    const replies = await Promise.all(
      [{}, good, gateway.signed({ body: '' })].map((headers) =>
        sendRaw(gateway.port, head + linesOf(headers) + length),
      ),
    );
    expect(replies.map((reply) => reply.slice(0, 12))).toEqual([
      ...['HTTP/1.1 401', 'HTTP/1.1 413', 'HTTP/1.1 413'],
    ]);
  });

  test.each([
    ['an authorized request', () => good],
    ['a signed request, whose body must be verified', () => gateway.signed({ body: '{}' })],
  ])('gets 100 Continue for %s', async (_name, headers) => {
    const socket: Socket = connect(gateway.port, '127.0.0.1');
    socket.write(`${head}${linesOf(headers())}Content-Length: 2\r\n\r\n`);
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write('{}');
    const [second] = (await once(socket, 'data')) as [Buffer];
    expect(second.toString()).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });

  test('is the only expectation: others get 417', async () => {
    const reply = await get('Host: g\r\nConnection: close\r\nExpect: magic\r\n');
    expect(reply).toMatch(/^HTTP\/1\.1 417 /);
  });
});
