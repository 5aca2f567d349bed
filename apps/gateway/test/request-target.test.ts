import { ApiError } from '@gatehouse/errors';
import { addressGroup } from '@gatehouse/server';
import {
  AmbiguousTextError,
  assertReadableQuery,
  canonicalText,
  encodeParameters,
  parseParameters,
  parseRequestTarget,
  splitQueryToken,
} from '@gatehouse/signing';
import { repetitions } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readLifetime } from '../src/pipeline/issue-access-token.ts';
import { deviceRoutes } from '../src/routes/route.ts';
import { sendRaw } from './http-client.ts';
import { bootSuiteGateway, openGateway } from './suite-gateway.ts';

const gateway = await bootSuiteGateway();
const good = await gateway.bearer();

/** Sends the request line with these headers, by default a good token. */
function get(target: string, method = 'GET', headers = good): Promise<string> {
  const lines = Object.entries({ Host: 'gateway', Connection: 'close', ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  const text = `${method} ${target} HTTP/1.1\r\n${lines}\r\n`;
  return sendRaw(gateway.port, Buffer.from(text, 'latin1'));
}

async function expectRefused(reply: string, status = 400): Promise<void> {
  expect(reply).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(gateway.upstream.requests).toEqual([]);
  expect((await gateway.send('/api/device', { headers: good })).status).toBe(200);
}

describe('the request target', () => {
  test.each([
    'http://user@127.0.0.1/api/device',
    'ftp://127.0.0.1/api/device',
    'http://127.0.0.1//evil.example/api/device',
    'http://127.0.0.1/public/../api/device',
    'http://127.0.0.1/api/device#x',
    '//evil.example/api/device',
    '//api/device',
    '/public/../api/device',
    '/api/./device',
    '/api/device/..',
    '/x/..;/api/device',
    '/x/%2e%2e/api/device',
    '/x/.%2e/api/device',
    '/%2E/api/device',
    '/api\\device',
    '/api%5cdevice',
    '/x/..%5Capi/device',
    '/api%2fdevice',
    '/api/v1/device/a%2Fb/_detail',
    '/api/v1/device/..%2f/_detail',
    '/api/device%00',
    '/api/v1/device/a%0d%0ab/_detail',
    '/api/v1/device/a%c2%85b/_detail',
    '/api/device#x',
    '/api/device?a=1#x',
    '/api/device?a=%00',
    '/api/device?a=%zz',
    '/api/device?a=%c0%ae',
    '/api/v1/device/\xc3\xa9/_detail',
    '/api/v1/device/%zz/_detail',
    '/api/v1/device/%c0%ae/_detail',
    '?a=1',
    '/api//device',
    '/api/device//',
  ])('must not be %p', async (target) => {
    await expectRefused(await get(target));
  });

  test.each(['/API/device', '/api/Device', '/none/'])(
    'with %p does not match a similar route',
    async (target) => {
      await expectRefused(await get(target), 404);
    },
  );

  test.each([
    ['http://evil.example/api/device?a=1', '/api/device?a=1'],
    ['HTTPS://gateway:8844/api/device?a=1', '/api/device?a=1'],
    // A segment is decoded once, and a doubly encoded one is forwarded unchanged.
    ['/api/v1/device/%252e%252e%252f/_detail', '/api/v1/device/%252e%252e%252f/_detail'],
    ['/api/%64evice?pageSize=2', '/api/device?pageSize=2'],
    ['/api/device/?pageSize=2', '/api/device?pageSize=2'],
    ['/api/v1/device/a%20b/_detail/', '/api/v1/device/a%20b/_detail'],
    ['/device/instance/_query/', '/device/instance/_query'],
  ])('%p is forwarded as %p', async (target, forwarded) => {
    expect(await get(target)).toMatch(/^HTTP\/1.1 200 /);
    const { url, headers } = gateway.upstream.last();
    expect(url).toBe(forwarded);
    expect(headers.host).toBe(new URL(gateway.upstream.url).host);
    expect(JSON.stringify(headers)).not.toContain('evil.example');
  });

  test.each([
    ['version 1', () => gateway.signed({ query: 'a=1' })],
    ['version 2', () => gateway.signedV2({ query: 'a=1' })],
  ] as const)('is signed in %s by the path, not by the URL', async (_name, sign) => {
    const headers = sign();
    const signed = (target: string) => get(target, 'GET', headers);
    expect(await signed('http://g/api/device?a=2')).toMatch(/^HTTP\/1.1 401 .*invalid_signature/s);
    expect(await signed('http://g/api/device?a=1')).toMatch(/^HTTP\/1.1 200 /);
    expect(gateway.upstream.requests.map(({ url }) => url)).toEqual(['/api/device?a=1']);
    expect(await signed('http://g/api/v1/device/b/_detail?a=2')).toMatch(/^HTTP\/1.1 401 /);
  });
});

describe('a trailing slash', () => {
  test('is part of the signed path of version 2 only', async () => {
    const body = { method: 'POST', headers: gateway.signed({ body: '{}' }), body: '{}' };
    expect((await gateway.send('/device-instance/', body)).status).toBe(200);
    expect((await gateway.send('/device-instance', body)).json.code).toBe('replayed_request');
    const path = '/api/device/';
    const headers = gateway.signedV2({ path });
    const other = gateway.signedV2({ path: '/api/device' });
    expect((await gateway.send(path, { headers })).status).toBe(200);
    expect((await gateway.send(path, { headers: other })).json.code).toBe('invalid_signature');
  });

  test('does not change who may send the request', async () => {
    const headers = await gateway.bearer({ scope: 'device:read' });
    const call = async (method: string, path: string) =>
      (await gateway.send(path, { method, headers })).status;
    expect(await call('DELETE', '/api/v1/device/a/')).toBe(403);
    expect(await call('PUT', '/api/device/')).toBe(405);
  });

  test('matches a route of its own', async () => {
    const list = deviceRoutes.filter(({ operation }) => operation === 'device.list');
    const paths = ['/plain', '/own', '/own/'];
    const routes = paths.flatMap((path) => list.map((route) => ({ ...route, path })));
    const own = await openGateway({ routes });
    const headers = await own.bearer();
    for (const path of ['/plain', '/plain/', '/own', '/own/']) {
      expect((await own.send(path, { headers })).status).toBe(200);
    }
    const forwarded = own.upstream.requests.map(({ url }) => url);
    expect(forwarded).toEqual(['/plain', '/plain', '/own', '/own/']);
  });
});

test.each([
  ['GET', '/no/such/path', 404, undefined],
  ['DELETE', '/api/device', 405, 'GET, HEAD, OPTIONS'],
])('%s %s is answered with %d only after the credential', async (method, path, status, allow) => {
  const call = (headers: Record<string, string>) => gateway.send(path, { method, headers });
  const caller = await call(good);
  expect([caller.status, caller.headers.allow]).toEqual([status, allow]);
  for (const headers of [{}, { Authorization: 'Bearer nobody' }]) {
    const reply = await call(headers);
    expect([reply.status, reply.json.code]).toEqual([401, 'unauthorized']);
  }
});

describe('the method', () => {
  test.each([
    ['TRACE', '/api/device', 405],
    ['PROPFIND', '/api/device', 405],
    ['OPTIONS', '*', 405],
    ['get', '/api/device', 400],
  ])('must not be %s for %s', async (method, target, status) => {
    await expectRefused(await get(target, method), status);
  });

  test('CONNECT closes the connection', async () => {
    const reply = await get('evil.example:443', 'CONNECT').catch(() => '');
    expect(reply).not.toMatch(/^HTTP\/1.1 2/);
  });
});

describe('an upgrade', () => {
  const offer = (Upgrade: string, Connection = 'Upgrade', more = {}) =>
    get('/api/device', 'GET', { ...good, Connection, Upgrade, ...more });

  test.each(['websocket', 'h2c, websocket', 'WebSocket', 'TLS/1.0', 'h2'])(
    'to %s is rejected',
    async (protocol) => {
      await expectRefused(await offer(protocol));
    },
  );

  // packages/server tests the framing after an ignored upgrade.
  test.each([
    ['h2c', 'Upgrade, HTTP2-Settings', { 'HTTP2-Settings': 'AA' }],
    ['H2C', 'keep-alive, upgrade', {}],
    ['h2c', 'X-Client-Id, Authorization, Upgrade', {}],
  ])('to %s with Connection: %s is ignored', async (protocol, connection, more) => {
    const reply = await offer(protocol, connection, more);
    expect(reply).toMatch(/^HTTP\/1.1 200 /);
    expect(reply).toMatch(/\r\nConnection: close\r\n/i);
    expect(reply).not.toMatch(/\r\nUpgrade:/i);
    const { headers } = gateway.upstream.last();
    expect(headers).not.toHaveProperty('upgrade');
    expect(headers).not.toHaveProperty('http2-settings');
    expect(headers.connection ?? '').not.toMatch(/upgrade|settings/i);
    expect(headers.authorization).toMatch(/^Bearer ey/);
  });
});

/** Characters that cause problems most often. */
const pieces = [
  ...['%', '%2', '%2e', '%2F', '%5c', '%00', '%zz', '%c0%ae', '%ED%A0%80', '%25', '%41'.repeat(50)],
  ...['&', '=', '+', '#', '/', '//', '..', '.', ';', '\\', '?', '@', ':', '[', ']', '{', '}', '"'],
  ...[',', ' ', '\0', '\r\n', 'access_token', 'a', 'Z', '9', 'é', '中', '\u{1f600}', '\ud800'],
  ...['\udc00', '\ufffd', '\u2028', 'http://', '__proto__', 'constructor', '"expires"', '1e999'],
  ...['-0', 'x'.repeat(300)],
];

const parsers: readonly ((text: string) => unknown)[] = [
  parseRequestTarget,
  (text) => parseRequestTarget(`/${text}`),
  splitQueryToken,
  assertReadableQuery,
  (text) => {
    const parameters = parseParameters(text);
    canonicalText(parameters);
    encodeParameters(parameters);
  },
  (text) => readLifetime(text, 2),
  addressGroup,
];

test('The parsers of unverified input accept or reject any random input.', () => {
  const input = fc.array(fc.constantFrom(...pieces), { maxLength: 24 }).map((all) => all.join(''));
  fc.assert(
    fc.property(input, (text) => {
      for (const parse of parsers) {
        try {
          parse(text);
        } catch (error) {
          if (!(error instanceof ApiError || error instanceof AmbiguousTextError)) {
            throw error;
          }
        }
      }
    }),
    { numRuns: repetitions(50_000), seed: 1 },
  );
});
