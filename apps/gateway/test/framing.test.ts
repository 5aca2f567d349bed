import { once } from 'node:events';
import { connect } from 'node:net';
import { until } from '@gatehouse/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { bootGateway } from './booted-gateway.ts';
import { send, sendRaw } from './http-client.ts';
import { bootSuiteGateway } from './suite-gateway.ts';

const booted = await bootSuiteGateway();
let token: string;

beforeEach(async () => {
  token = await booted.issueToken();
});

/** Creates a device with a good token, so that only the framing can cause an error. */
function post(head: string, body: string, version = '1.1'): Promise<string> {
  return sendRaw(
    booted.port,
    Buffer.from(
      `POST /device-instance HTTP/${version}\r\nHost: g\r\nAuthorization: Bearer ${token}\r\n` +
        `Content-Type: application/json\r\n${head}\r\n${body}`,
      'latin1',
    ),
  );
}

async function expectHealthy(): Promise<void> {
  const reply = await send(booted.port, '/api/device', {
    headers: { Authorization: `Bearer ${token}` },
  });
  expect(reply.status).toBe(200);
}

describe('the framing of a body', () => {
  const chunked = '2\r\n{}\r\n0\r\n\r\n';
  test.each([
    ['GW-12', 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n', chunked],
    ['GW-12', 'Transfer-Encoding: chunked\r\nContent-Length: 2\r\n', chunked],
    ['GW-12', 'Transfer-Encoding: xchunked\r\n', chunked],
    ['GW-12', 'Transfer-Encoding : chunked\r\n', chunked],
    ['GW-12', 'Transfer-Encoding: chunked, identity\r\n', chunked],
    ['GW-12', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', chunked],
    ['GW-12', 'Transfer-Encoding:\x0bchunked\r\n', chunked],
    ['GW-12', 'Content-Length: 2\r\nContent-Length: 3\r\n', '{}'],
    ['GW-12', 'Content-Length: +2\r\n', '{}'],
    ['GW-12', 'Content-Length: 2, 2\r\n', '{}'],
    ['GW-12', 'Content-Length: 0x2\r\n', '{}'],
    ['GW-12', 'Content-Length: -1\r\n', '{}'],
    ['GW-12', 'Content-Length: 99999999999999999999\r\n', '{}'],
    ['GW-13', 'Transfer-Encoding: gzip, chunked\r\n', chunked],
    ['GW-14', 'X-A: b\nX-C: d\r\nContent-Length: 2\r\n', '{}'],
    ['GW-14', 'X-A: b\rX-C: d\r\nContent-Length: 2\r\n', '{}'],
    ['GW-14', 'X-A: b\0c\r\nContent-Length: 2\r\n', '{}'],
    ['GW-14', 'X-A: b\r\n c\r\nContent-Length: 2\r\n', '{}'],
    ['GW-14', 'X A: b\r\nContent-Length: 2\r\n', '{}'],
    ['GW-15', 'Transfer-Encoding: chunked\r\n', '2\n{}\r\n0\r\n\r\n'],
    ['GW-15', 'Transfer-Encoding: chunked\r\n', '-2\r\n{}\r\n0\r\n\r\n'],
    ['GW-15', 'Transfer-Encoding: chunked\r\n', 'ffffffffffffffffff\r\n{}\r\n0\r\n\r\n'],
    ['GW-15', 'Transfer-Encoding: chunked\r\n', `2;${'x'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`],
    ['GW-15', 'Transfer-Encoding: chunked\r\n', '2\r\n{}X\r\n0\r\n\r\n'],
  ])('%s is rejected, and the connection is closed: %j', async (_id, head, body) => {
    const reply = await post(head, body);
    // If the head was good, the connection may break instead. There is never a positive answer.
    expect(reply === '' || /^HTTP\/1\.1 (400|413|501) /.test(reply)).toBe(true);
    expect(reply.match(/HTTP\/1\.1 /g)?.length ?? 0).toBeLessThanOrEqual(1);
    expect(booted.upstream.requests).toEqual([]);
    await expectHealthy();
  });

  test('CWE-444 rejects Transfer-Encoding in HTTP/1.0 and reads no second request from its body', async () => {
    const smuggled =
      'POST /device-instance HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\n' +
      `Authorization: Bearer ${token}\r\nContent-Length: 2\r\n\r\n{}`;
    for (const body of [chunked, `${chunked}${smuggled}`]) {
      const head = 'Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n';
      const reply = await post(head, body, '1.0');
      expect(reply).toMatch(/^HTTP\/1\.1 400 .*Transfer-Encoding: needs HTTP\/1\.1/s);
      expect(reply).toMatch(/\r\nconnection: close\r\n/i);
      expect(reply.match(/HTTP\/1\.1 [1-5]/g)).toHaveLength(1);
    }
    expect(booted.upstream.requests).toEqual([]);
    await expectHealthy();
  });

  test('may be a length in HTTP/1.0', async () => {
    expect(await post('Content-Length: 2\r\n', '{}', '1.0')).toMatch(/^HTTP\/1\.1 200 /);
  });

  test('never turns trailers into headers', async () => {
    const trailers = `X-User-Id: admin\r\nAuthorization: Bearer x\r\nX-Sign: 00\r\n`;
    const reply = await post(
      'Transfer-Encoding: chunked\r\nTrailer: X-User-Id\r\nConnection: close\r\n',
      `2\r\n{}\r\n0\r\n${trailers}\r\n`,
    );
    expect(reply).toMatch(/^HTTP\/1\.1 200 /);
    const seen = booted.upstream.last();
    expect(JSON.stringify(seen.rawHeaders)).not.toMatch(/x-user-id|x-sign|Bearer x/i);
    expect(seen.body.toString()).toBe('{}');
  });

  test('never sends a caller the reply to another caller', async () => {
    // Every reply names its request, so that a desynchronized pair becomes visible.
    booted.upstream.answerWith((request, response) => {
      request.resume();
      request.on('end', () => response.end(`${request.url} ${request.headers['user-agent']}`));
    });
    const smuggled =
      'GET /api/device?who=smuggled HTTP/1.1\r\nHost: g\r\nUser-Agent: smuggled\r\n\r\n';
    for (let round = 0; round < 200; round += 1) {
      const attack = `POST /device-instance HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ${token}\r\nUser-Agent: attacker\r\n`;
      const [framing, body] =
        round % 2 === 0
          ? [`Content-Length: ${smuggled.length}\r\n`, smuggled]
          : [
              'Transfer-Encoding: chunked\r\n',
              `${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`,
            ];
      const socket = connect(booted.port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write(`${attack}${framing}\r\n${body}`);
      const victims = await Promise.all(
        Array.from({ length: 5 }, (_, index) =>
          send(booted.port, `/api/device?who=${round}-${index}`, {
            headers: { Authorization: `Bearer ${token}`, 'User-Agent': `victim-${index}` },
          }),
        ),
      );
      victims.forEach(({ body: text }, index) => {
        expect(text.toString()).toBe(`/api/device?who=${round}-${index} victim-${index}`);
      });
      socket.destroy();
    }
    expect(booted.upstream.requests.map(({ url }) => url)).not.toContain(
      '/api/device?who=smuggled',
    );
  });

  test('keeps the replies to pipelined requests in order', async () => {
    booted.upstream.answerWith((request, response) => {
      const delay = request.url?.includes('slow') ? 50 : 0;
      setTimeout(() => response.end(String(request.url)), delay);
    });
    const one = (path: string, end = '') =>
      `GET ${path} HTTP/1.1\r\nHost: g\r\n${end}Authorization: Bearer ${token}\r\n\r\n`;
    const replies = await sendRaw(
      booted.port,
      one('/api/device?slow') +
        one('/api/device?a') +
        one('/api/device?b', 'Connection: close\r\n'),
    );
    expect([...replies.matchAll(/\/api\/device\?(slow|a|b)/g)].map(([, name]) => name)).toEqual([
      'slow',
      'a',
      'b',
    ]);
  });
});

describe('the head of a request', () => {
  test.each([
    ['g.example:99999999', 'an invalid port'],
    ['user@g.example', 'user information'],
    ['g.example/path', 'a path'],
    ['', 'an empty value'],
    ['g example', 'a space'],
    ['g.example,h.example', 'a list'],
  ])('is rejected with the Host %j (%s)', async (host) => {
    const reply = await sendRaw(
      booted.port,
      `GET /api/device HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    );
    expect(reply).toMatch(/^HTTP\/1\.1 400 /);
    expect(booted.upstream.requests).toEqual([]);
  });

  test.each(['gateway', 'gateway:8844', '127.0.0.1:80', '[::1]:8844', 'g_w.example'])(
    'is accepted with the Host %j',
    async (host) => {
      const reply = await sendRaw(
        booted.port,
        `GET /api/device HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n` +
          `Authorization: Bearer ${token}\r\n\r\n`,
      );
      expect(reply).toMatch(/^HTTP\/1\.1 200 /);
    },
  );

  test('is rejected in HTTP/1.1 without a Host', async () => {
    const reply = await sendRaw(
      booted.port,
      `GET /api/device HTTP/1.1\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    );
    expect(reply).toMatch(/^HTTP\/1\.1 400 .*"illegal_argument"/s);
    expect(booted.logLines().at(-1)).toMatchObject({ status: 400, reason: 'http_invalid' });
  });

  test('is accepted in HTTP/1.0, and the connection is closed', async () => {
    const one = `GET /api/device HTTP/1.0\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    const reply = await sendRaw(booted.port, one);
    expect(reply).toMatch(/^HTTP\/1\.1 200 .*connection: close/is);
    // Bytes that follow on a closing connection are not a request.
    const two = await sendRaw(booted.port, one + one).catch(() => '');
    expect(two.match(/HTTP\/1\.1 /g)?.length ?? 0).toBeLessThanOrEqual(1);
    expect(booted.upstream.requests.length).toBeLessThanOrEqual(2);
  });

  test.each([
    ['GET /api/device\r\n\r\n'],
    ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['GET /api/device HTTP/1.9\r\nHost: g\r\n\r\n'],
    ['GET /api/device HTTP/2.0\r\nHost: g\r\n\r\n'],
    ['GET /api/device HTTP/9\r\nHost: g\r\n\r\n'],
    ['GET  /api/device  HTTP/1.1\r\nHost: g\r\n\r\n'],
    ['GET /api/device HTTPS/1.1\r\nHost: g\r\n\r\n'],
  ])('is rejected if it begins with %j', async (text) => {
    const reply = await sendRaw(booted.port, text);
    expect(reply === '' || /^HTTP\/1\.1 (400|401|405|505) /.test(reply)).toBe(true);
    expect(booted.upstream.requests).toEqual([]);
    await expectHealthy();
  });

  test('is never misread if it has too many headers', async () => {
    const many = Array.from({ length: 1100 }, (_, index) => `a${index}: b\r\n`).join('');
    const signed = Object.entries(booted.signed())
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('');
    for (const count of [90, 97, 98, 99, 100, 101, 1000]) {
      const some = many.split('\r\n').slice(0, count).join('\r\n');
      const reply = await sendRaw(
        booted.port,
        `GET /api/device HTTP/1.1\r\nHost: g\r\n${some}\r\nConnection: close\r\n${signed}\r\n`,
      );
      expect(reply).toMatch(/^HTTP\/1\.1 (200|401|431) /);
      if (count >= 100) {
        expect(reply).not.toMatch(/^HTTP\/1\.1 200 /);
      }
    }
  });
});

describe('Expect', () => {
  function expecting(head: string): Promise<string> {
    return sendRaw(
      booted.port,
      `POST /device-instance HTTP/1.1\r\nHost: g\r\n${head}Connection: close\r\nExpect: 100-continue\r\n\r\n`,
    );
  }

  test('gets an error before the gateway requests the body', async () => {
    const stranger = await expecting('Content-Length: 104857600\r\n');
    expect(stranger).toMatch(/^HTTP\/1\.1 401 /);
    const large = await expecting(
      `Content-Length: 104857600\r\nAuthorization: Bearer ${token}\r\n`,
    );
    expect(large).toMatch(/^HTTP\/1\.1 413 /);
  });

  test('gets 100 Continue for an authorized request', async () => {
    const socket = connect(booted.port, '127.0.0.1');
    socket.write(
      `POST /device-instance HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ${token}\r\n` +
        'Content-Length: 2\r\nExpect: 100-continue\r\n\r\n',
    );
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write('{}');
    const [second] = (await once(socket, 'data')) as [Buffer];
    expect(second.toString()).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });

  test('gets 100 Continue for a signed request, whose body must be verified', async () => {
    const signed = Object.entries(booted.signed({ body: '{}' }));
    const socket = connect(booted.port, '127.0.0.1');
    socket.write(
      `POST /device-instance HTTP/1.1\r\nHost: g\r\nContent-Length: 2\r\nExpect: 100-continue\r\n` +
        `${signed.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
    );
    await once(socket, 'data');
    socket.write('{}');
    const [reply] = (await once(socket, 'data')) as [Buffer];
    expect(reply.toString()).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });

  test('gets 417 for an unknown expectation', async () => {
    const reply = await sendRaw(
      booted.port,
      `GET /api/device HTTP/1.1\r\nHost: g\r\nConnection: close\r\n` +
        `Authorization: Bearer ${token}\r\nExpect: magic\r\n\r\n`,
    );
    expect(reply).toMatch(/^HTTP\/1\.1 417 /);
  });
});

describe('many connections', () => {
  test('are limited: the gateway closes those above the limit and serves the others', async () => {
    const small = await bootGateway({ maximumConnections: 20 });
    const idle = Array.from({ length: 60 }, () => connect(small.port, '127.0.0.1').resume());
    const closed = idle.map((socket) => {
      socket.on('error', () => {});
      return new Promise<void>((resolve) => socket.once('close', () => resolve()));
    });
    let count = 0;
    for (const each of closed) {
      void each.then(() => {
        count += 1;
      });
    }
    await until(() => count >= 40);
    expect(count).toBe(40);
    for (const socket of idle) {
      socket.destroy();
    }
    const headers = { Authorization: `Bearer ${await small.issueToken()}` };
    const getStatus = async () => (await send(small.port, '/api/device', { headers })).status;
    await until(async () => (await getStatus().catch(() => undefined)) === 200);
    await small.close();
  });
});
