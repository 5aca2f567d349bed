import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { deviceRoutes } from '../src/routes/route.ts';
import { startRawService, whole } from './raw-service.ts';
import { openGateway } from './suite-gateway.ts';

const service = await startRawService();
const list = deviceRoutes.filter(({ operation }) => operation === 'device.list');
const events = list.map((route) => ({ ...route, path: '/events', streaming: true }));
const gateway = await openGateway({
  deviceServiceUrl: service.url.origin,
  routes: [...deviceRoutes, ...events].map((route) => ({ ...route, timeoutMilliseconds: 1000 })),
  capacity: { connections: 3, maximumRequests: 3 },
});
const authorization = await gateway.bearer();

let signedRequests = 0;
beforeEach(() => {
  signedRequests += 1;
});
afterEach(async () => {
  expect(gateway.leakedSecrets()).toEqual([]);
  service.answer = (socket) => socket.end(whole('{}'));
  expect((await get()).status).toBe(200);
});
afterAll(() => service.close());

const answerWith = (bytes: string) => {
  service.answer = (socket) => socket.end(bytes);
};
const get = () => gateway.send('/api/device', { headers: authorization });
function getSigned() {
  const query = `count=${signedRequests}`;
  return gateway.send(`/api/device?${query}`, { headers: gateway.signed({ query }) });
}

describe('a service that fails', () => {
  test.each([
    ['refuses the connection', 'http://127.0.0.1:1'],
    // No resolver is asked for a label of more than 63 characters.
    ['has no address', `http://${'a'.repeat(64)}.invalid:8850`],
  ])('and %s leads to a 502', async (_name, deviceServiceUrl) => {
    const alone = await openGateway({ deviceServiceUrl });
    const reply = await alone.send('/api/device', { headers: await alone.bearer() });

    expect([reply.status, reply.json.code]).toEqual([502, 'bad_gateway']);
    expect(reply.body.toString()).not.toMatch(/ECONN|ENOTFOUND|127\.0\.0\.1|invalid:/);
  });

  test('by sending slowly is disconnected at the deadline', async () => {
    service.answer = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n');
      const trickle = setInterval(() => socket.write('x'), 50);
      socket.once('close', () => clearInterval(trickle));
    };
    const [streamed, signed] = await Promise.allSettled([get(), getSigned()]);
    expect(streamed.status).toBe('rejected');
    expect(signed).toMatchObject({ value: { status: 504 } });
  });

  const kinds = {
    none: { method: 'GET', path: '/api/device' },
    small: { method: 'POST', path: '/device-instance', body: '{}' },
    large: { method: 'POST', path: '/device-instance', body: `"${'x'.repeat(200_000)}"` },
    stream: { method: 'GET', path: '/events' },
  };
  // upstream/reply-reader.test.ts has all malformed replies to requests of the kinds none and small.
  test.each(
    Object.entries(kinds).flatMap(([kind, request]) =>
      [
        ['gzip, chunked', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
        ['status 999', 'HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n'],
        [
          'chunks and a length',
          'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
        ],
        ['a bare LF', 'HTTP/1.1 200 OK\nContent-Length: 2\n\n{}'],
        ['an upgrade', 'HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'],
      ].map(([name = '', bytes = '']) => [name, kind, bytes, request] as const),
    ),
  )('with %s leads to a 502 for a request of kind %s', async (_name, _kind, bytes, request) => {
    service.answer = (socket) => socket.write(bytes);
    const { path, ...sent } = request;
    const reply = await gateway.send(path, { ...sent, headers: authorization });
    expect([reply.status, reply.json.code]).toEqual([502, 'bad_gateway']);
  });

  test('with fewer bytes than announced breaks the connection of the caller', async () => {
    service.answer = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf');
      setTimeout(() => socket.end(), 100);
    };
    await expect(get()).rejects.toThrow();
  });

  test('in the middle of a body leads to a signed 502, not to a signature over half of it', async () => {
    answerWith('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf');
    const reply = await getSigned();
    expect([reply.status, reply.json.code]).toEqual([502, 'bad_gateway']);
    expect(reply.headers).toHaveProperty('x-sign');
  });

  test('by silence leads to a 504 at the deadline, and on every connection to a 503 for the rest', async () => {
    service.answer = () => {};
    const hanging = [get(), get(), get()];
    const shed = await get();

    expect([shed.status, shed.json.code]).toEqual([503, 'service_unavailable']);
    expect(shed.headers['retry-after']).toBe('1');
    const late = (await Promise.all(hanging)).map(({ status, json }) => [status, json.code]);
    expect(late).toEqual(Array(3).fill([504, 'timeout']));
  });

  test.each([401, 407])(
    'by rejecting the internal token with %d leads to a 502',
    async (status) => {
      answerWith(`HTTP/1.1 ${status} No\r\nContent-Length: 2\r\n\r\n{}`);
      expect((await get()).status).toBe(502);
    },
  );

  test('may send 103 before its answer', async () => {
    answerWith(`HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${whole('{}')}`);
    const reply = await get();
    expect([reply.status, reply.body.toString()]).toEqual([200, '{}']);
  });
});
