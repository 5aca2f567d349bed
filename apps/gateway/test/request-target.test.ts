import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Route } from '../src/routes/route.ts';
import { deviceRoutes } from '../src/routes/route.ts';
import { bootGateway } from './booted-gateway.ts';
import { send, sendRaw } from './http-client.ts';
import { bootSuiteGateway } from './suite-gateway.ts';

const booted = await bootSuiteGateway();
let token: string;

beforeEach(async () => {
  token = await booted.issueToken();
});

/** Sends the request line with a good token, so that only the target can cause an error. */
function get(target: string, extra = '', method = 'GET'): Promise<string> {
  return sendRaw(
    booted.port,
    Buffer.from(
      `${method} ${target} HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${token}\r\n` +
        `Connection: close\r\n${extra}\r\n`,
      'latin1',
    ),
  );
}

async function expectRefused(reply: string, status = 400): Promise<void> {
  expect(reply).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(booted.upstream.requests).toEqual([]);
  const next = await send(booted.port, '/api/device', {
    headers: { Authorization: `Bearer ${token}` },
  });
  expect(next.status).toBe(200);
}

describe('the request target', () => {
  test.each([
    ['GW-01', 'http://user@127.0.0.1/api/device'],
    ['GW-01', 'ftp://127.0.0.1/api/device'],
    ['GW-02', 'http://127.0.0.1//evil.example/api/device'],
    ['GW-03', 'http://127.0.0.1/public/../api/device'],
    ['GW-10', 'http://127.0.0.1/api/device#x'],
    ['GW-02', '//evil.example/api/device'],
    ['GW-02', '//api/device'],
    ['GW-03', '/public/../api/device'],
    ['GW-03', '/api/./device'],
    ['GW-03', '/api/device/..'],
    ['GW-03', '/x/..;/api/device'],
    ['GW-04', '/x/%2e%2e/api/device'],
    ['GW-04', '/x/.%2e/api/device'],
    ['GW-04', '/%2E/api/device'],
    ['GW-05', '/api\\device'],
    ['GW-05', '/api%5cdevice'],
    ['GW-05', '/x/..%5Capi/device'],
    ['GW-06', '/api%2fdevice'],
    ['GW-06', '/api/v1/device/a%2Fb/_detail'],
    ['GW-06', '/api/v1/device/..%2f/_detail'],
    ['GW-10', '/api/device%00'],
    ['GW-10', '/api/v1/device/a%0d%0ab/_detail'],
    ['GW-10', '/api/v1/device/a%c2%85b/_detail'],
    ['GW-10', '/api/device#x'],
    ['GW-10', '/api/device?a=1#x'],
    ['GW-10', '/api/device?a=%00'],
    ['GW-10', '/api/device?a=%zz'],
    ['GW-10', '/api/v1/device/\xc3\xa9/_detail'],
    ['GW-10', '/api/v1/device/%zz/_detail'],
    ['GW-10', '/api/v1/device/%c0%ae/_detail'],
    ['GW-10', '?a=1'],
    ['GW-09', '/api//device'],
  ])('%s rejects %p', async (_id, target) => {
    await expectRefused(await get(target));
  });

  test.each(['http://evil.example/api/device?a=1', 'HTTPS://gateway:8844/api/device?a=1'])(
    'takes only path and query from %p',
    async (target) => {
      expect(await get(target)).toMatch(/^HTTP\/1.1 200 /);
      const { url, headers } = booted.upstream.last();
      expect(url).toBe('/api/device?a=1');
      expect(new URL(booted.upstream.url).host).toBe(headers.host);
      expect(JSON.stringify(headers)).not.toContain('evil.example');
    },
  );

  test.each([
    ['version 1', () => booted.signed({ query: 'a=1' })],
    ['version 2', () => booted.signedV2({ query: 'a=1' })],
  ] as const)('verifies a signature of %s by the path, not by the URL', async (_name, sign) => {
    const lines = Object.entries(sign()).map(([name, value]) => `${name}: ${value}\r\n`);
    const signed = (target: string) =>
      sendRaw(
        booted.port,
        `GET ${target} HTTP/1.1\r\nHost: g\r\nConnection: close\r\n${lines.join('')}\r\n`,
      );
    expect(await signed('http://g/api/device?a=2')).toMatch(/^HTTP\/1.1 401 .*invalid_signature/s);
    expect(await signed('http://g/api/device?a=1')).toMatch(/^HTTP\/1.1 200 /);
    expect(booted.upstream.requests.map(({ url }) => url)).toEqual(['/api/device?a=1']);
    expect(await signed('http://g/api/v1/device/b/_detail?a=2')).toMatch(/^HTTP\/1.1 401 /);
  });

  test('decodes a segment only once and forwards a doubly encoded one unchanged', async () => {
    const reply = await get('/api/v1/device/%252e%252e%252f/_detail');

    expect(reply).toMatch(/^HTTP\/1.1 200 /);
    expect(booted.upstream.last().url).toBe('/api/v1/device/%252e%252e%252f/_detail');
  });

  test('forwards the normalized path that it matched', async () => {
    expect(await get('/api/%64evice?pageSize=2')).toMatch(/^HTTP\/1.1 200 /);
    expect(booted.upstream.last().url).toBe('/api/device?pageSize=2');
  });

  test.each(['/API/device', '/api/device//', '/api/Device', '/none/'])(
    'does not treat %p as a similar route',
    async (target) => {
      const status = target.endsWith('//') ? 400 : 404;
      await expectRefused(await get(target), status);
    },
  );

  test.each([
    ['/api/device/?pageSize=2', '/api/device?pageSize=2'],
    ['/api/v1/device/a%20b/_detail/', '/api/v1/device/a%20b/_detail'],
    ['/device/instance/_query/', '/device/instance/_query'],
  ])('serves %p as %p', async (target, forwarded) => {
    expect(await get(target)).toMatch(/^HTTP\/1.1 200 /);
    expect(booted.upstream.last().url).toBe(forwarded);
  });

  test('binds a signature to the path without a trailing slash', async () => {
    const body = { method: 'POST', headers: booted.signed({ body: '{}' }), body: '{}' };
    expect((await send(booted.port, '/device-instance/', body)).status).toBe(200);
    expect((await send(booted.port, '/device-instance', body)).json.code).toBe('replayed_request');
    const sent = '/api/device/';
    const headers = booted.signedV2({ path: sent });
    const other = booted.signedV2({ path: '/api/device' });
    expect((await send(booted.port, sent, { headers })).status).toBe(200);
    expect((await send(booted.port, sent, { headers: other })).json.code).toBe('invalid_signature');
  });

  test('limits and authorizes a path with a trailing slash like the path without it', async () => {
    const reader = { Authorization: `Bearer ${await booted.issueToken({ scope: 'device:read' })}` };
    const sent = { method: 'DELETE', headers: reader };
    expect((await send(booted.port, '/api/v1/device/a/', sent)).json.code).toBe('access_denied');
    expect(
      (await send(booted.port, '/api/device/', { method: 'PUT', headers: reader })).status,
    ).toBe(405);
  });

  test('serves a path with a trailing slash that has its own route as that route', async () => {
    const [route] = deviceRoutes.filter(({ operation }) => operation === 'device.list');
    const routes = ['/plain', '/own', '/own/'].map((path) => ({ ...route, path }) as Route);
    const own = await bootGateway({ routes });
    const headers = { Authorization: `Bearer ${await own.issueToken()}` };
    for (const path of ['/plain', '/plain/', '/own', '/own/']) {
      expect((await send(own.port, path, { headers })).status).toBe(200);
    }
    expect(own.upstream.requests.map(({ url }) => url)).toEqual([
      '/plain',
      '/plain',
      '/own',
      '/own/',
    ]);
    await own.close();
  });

  test.each(['POST', 'PUT', 'DELETE'])('answers %s for the metadata with 405', async (method) => {
    const reply = await send(booted.port, '/.well-known/oauth-protected-resource', { method });
    expect([reply.status, reply.json.code]).toEqual([405, 'method_not_allowed']);
    expect(reply.headers.allow).toBe('GET, HEAD, OPTIONS');
  });

  test('answers 401 for an unknown path without a credential, 404 with a valid one', async () => {
    const stranger = await send(booted.port, '/no/such/path');
    const caller = await send(booted.port, '/no/such/path', {
      headers: { Authorization: `Bearer ${token}` },
    });
    const invalid = await send(booted.port, '/no/such/path', {
      headers: { Authorization: 'Bearer nobody' },
    });

    expect([stranger.status, stranger.json.code]).toEqual([401, 'unauthorized']);
    expect([caller.status, caller.json.code]).toEqual([404, 'not_found']);
    expect(invalid.status).toBe(401);
  });

  test('answers 405 with Allow for a known path and another method, after the credential', async () => {
    const caller = await send(booted.port, '/api/device', {
      method: 'DELETE',
      headers: { Authorization: `Bearer ${token}` },
    });
    const stranger = await send(booted.port, '/api/device', { method: 'DELETE' });

    expect([caller.status, caller.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
    expect(stranger.status).toBe(401);
  });
});

describe('the request line and framing', () => {
  test.each([
    ['TRACE', '/api/device', 405],
    ['PROPFIND', '/api/device', 405],
    ['OPTIONS', '*', 405],
    ['get', '/api/device', 400],
  ])('rejects %s %s', async (method, target, status) => {
    await expectRefused(await get(target, '', method), status);
  });

  test('closes the connection of a CONNECT', async () => {
    const reply = await get('evil.example:443', '', 'CONNECT').catch(() => '');
    expect(reply).not.toMatch(/^HTTP\/1.1 2/);
  });

  function offer(protocol: string, connection = 'Upgrade', more = ''): Promise<string> {
    return sendRaw(
      booted.port,
      `GET /api/device HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${token}\r\n` +
        `Connection: ${connection}\r\nUpgrade: ${protocol}\r\n${more}\r\n`,
    );
  }

  test.each(['websocket', 'h2c, websocket', 'WebSocket', 'TLS/1.0', 'h2'])(
    'rejects an upgrade to %s',
    async (protocol) => {
      await expectRefused(await offer(protocol));
    },
  );

  test.each([
    ['h2c', 'Upgrade, HTTP2-Settings', 'HTTP2-Settings: AA\r\n'],
    ['H2C', 'keep-alive, upgrade', ''],
    ['h2c', 'HTTP2-Settings', 'HTTP2-Settings: AA\r\n'],
    ['h2c', 'close', ''],
    ['h2c', 'X-Client-Id, Authorization, Upgrade', ''],
  ])('ignores an upgrade to %s with Connection: %s', async (protocol, connection, more) => {
    const reply = await offer(protocol, connection, more);
    expect(reply).toMatch(/^HTTP\/1.1 200 /);
    expect(reply).toMatch(/\r\nConnection: close\r\n/i);
    expect(reply).not.toMatch(/\r\nUpgrade:/i);
    const { headers } = booted.upstream.last();
    expect(headers).not.toHaveProperty('upgrade');
    expect(headers).not.toHaveProperty('http2-settings');
    expect(headers.connection ?? '').not.toMatch(/upgrade|settings/i);
    expect(headers.authorization).toMatch(/^Bearer ey/);
  });

  test('CWE-444 serves a body after an upgrade to h2c, and no request behind it', async () => {
    const reply = await sendRaw(
      booted.port,
      `POST /device-instance HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ${token}\r\n` +
        'Content-Type: application/json\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n' +
        'Content-Length: 2\r\n\r\n{}' +
        `GET /api/device HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    );
    expect(reply.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
    expect(booted.upstream.requests.map(({ method, body }) => `${method} ${body}`)).toEqual([
      'POST {}',
    ]);
  });

  test.each([
    ['GW-13', 'Transfer-Encoding: gzip, chunked\r\n'],
    ['GW-22', 'Host: other\r\n'],
    ['GW-12', 'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n'],
    ['GW-12', 'Content-Length: 3\r\nContent-Length: 3\r\n'],
    ['GW-14', 'X-Folded: a\r\n b\r\n'],
  ])('%s rejects %p', async (_id, header) => {
    await expectRefused(await get('/api/device', header));
  });

  test('tolerates a header named __proto__', async () => {
    const reply = await get('/api/device', '__proto__: x\r\nconstructor: y\r\n');
    expect(reply).toMatch(/^HTTP\/1.1 200 /);
  });

  test('answers 431 for headers and URLs that are too long', async () => {
    const header = await get('/api/device', `X-Long: ${'a'.repeat(17 * 1024)}\r\n`);
    expect(header).toMatch(/^HTTP\/1.1 431 /);
    expect(await get(`/api/device?${'a'.repeat(20 * 1024)}`)).toMatch(/^HTTP\/1.1 431 /);
  });
});
