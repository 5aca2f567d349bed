import { connect } from 'node:net';
import { until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { deviceRoutes } from '../src/routes/route.ts';
import { publicUrl } from './booted-gateway.ts';
import { aliasesOfSubject, forgedHeaders } from './forged-headers.ts';
import { sendRaw } from './http-client.ts';
import { bootSuiteGateway, openGateway } from './suite-gateway.ts';

const gateway = await bootSuiteGateway();
const authorization = await gateway.bearer();
const get = (method = 'GET') => gateway.send('/api/device', { method, headers: authorization });
const post = (body: string | Buffer | readonly Buffer[], headers: Record<string, string> = {}) =>
  gateway.send('/device-instance', {
    method: 'POST',
    headers: { ...authorization, ...headers },
    body,
  });
const rawGet = (value = authorization.Authorization) =>
  `GET /api/device HTTP/1.1\r\nHost: a\r\nAuthorization: ${value}\r\n\r\n`;

describe('a reply to the caller', () => {
  test('has no header that identifies the service or imitates the gateway', async () => {
    const hidden = {
      Server: 'secret/1.0',
      'X-Powered-By': 'Express',
      'X-Failure': 'not_found device_unknown',
      'X-Sign': 'forged',
      'X-Sign-V2': 'forged',
      'X-Timestamp': '1',
      'Set-Cookie': 'a=b',
      'Access-Control-Allow-Origin': '*',
      'X-Internal': 'yes',
    };
    gateway.upstream.answerWith((_request, response) => {
      const others = { 'Cache-Control': 'public, max-age=1', 'X-Total-Count': '3' };
      response.writeHead(200, { ...hidden, ...others, Connection: 'keep-alive, X-Internal' });
      response.end('{}');
    });
    const { headers } = await get();

    for (const name of Object.keys(hidden)) {
      expect(headers).not.toHaveProperty(name.toLowerCase());
    }
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-total-count': '3',
    });
  });

  test('keeps the connection open, and closes it if the rest of a body is unread', async () => {
    // Otherwise, the rest would be read as the next request.
    const head = 'POST /device-instance HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n';
    const [kept = '', closed = ''] = await Promise.all(
      [rawGet() + rawGet(), head + rawGet()].map((bytes) => sendRaw(gateway.port, bytes)),
    );
    expect(kept.match(/HTTP\/1\.1 200 /g)).toHaveLength(2);
    expect(kept).not.toMatch(/^connection: close/im);
    expect(closed.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(closed).toMatch(/^HTTP\/1\.1 401 [\s\S]*^connection: close/im);
  });

  test('is streamed completely if it is large', async () => {
    const chunk = Buffer.alloc(64 * 1024, 'x');
    gateway.upstream.answerWith((_request, response) => {
      for (let count = 0; count < 160; count += 1) {
        response.write(chunk);
      }
      response.end();
    });
    expect((await get()).body.length).toBe(160 * chunk.length);
  });

  test.each([
    ['GET', 204, {}, undefined],
    ['HEAD', 200, { 'Content-Length': '123' }, '123'],
    ['HEAD', 204, { 'Content-Length': '123' }, undefined],
  ] as const)('to %s with status %d has no body', async (method, status, headers, length) => {
    gateway.upstream.answerWith((_request, response) => response.writeHead(status, headers).end());
    const reply = await get(method);
    expect([reply.status, reply.headers['content-length']]).toEqual([status, length]);
  });
});

describe('a request body that the gateway does not accept', () => {
  test.each(['Content-Length', 'chunked'])('is rejected above the limit (%s)', async (framing) => {
    const body = Buffer.alloc(1024 * 1024 + 1, 'a');
    const reply = await post(body, {
      ...(framing !== 'chunked' && { 'Content-Length': String(body.length) }),
    });
    expect([reply.status, reply.json.code]).toEqual([413, 'payload_too_large']);
    expect(gateway.upstream.requests).toEqual([]);
  });

  test('does no harm if the service answers before its end', async () => {
    gateway.upstream.answerWith((_request, response) => {
      response.writeHead(409, { 'Content-Type': 'application/json' }).end('{"early":true}');
    });
    for (const count of [1, 3, 40]) {
      const reply = await post(Array.from({ length: count }, () => Buffer.alloc(64 * 1024, 'a')));
      expect([409, 413, 502]).toContain(reply.status);
    }
  });

  test('is rejected for a method without a body', async () => {
    const headers = { ...authorization, 'Content-Length': '2' };
    const reply = await gateway.send('/api/device', { headers, body: '{}' });
    expect([reply.status, reply.json.code]).toEqual([400, 'illegal_argument']);
  });
});

describe('a caller that leaves', () => {
  test('ends the exchange with the service', async () => {
    const cut = Promise.withResolvers<void>();
    gateway.upstream.answerWith((request) => request.socket.once('close', cut.resolve));
    const socket = connect(gateway.port, '127.0.0.1');
    socket.write(rawGet());
    await until(() => gateway.upstream.requests.length > 0);
    socket.destroy();
    await cut.promise;
  });

  test('before its internal token was created causes no request to the service', async () => {
    const keyRead = Promise.withResolvers<void>();
    let isWaiting = false;
    const own = await openGateway({
      around: async (run, _operation, key) => {
        if (key.startsWith('signing-key:')) {
          isWaiting = true;
          await keyRead.promise;
        }
        return run();
      },
    });
    const socket = connect(own.port, '127.0.0.1').on('error', () => {});
    socket.write(rawGet((await own.bearer()).Authorization));
    await until(() => isWaiting);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.resetAndDestroy();
    await closed;
    // The gateway reads these requests after the end of the connection.
    await own.send('/time');
    await own.send('/time');
    keyRead.resolve();
    // Its request reaches the service after that of the other caller would have.
    const path = '/api/device?next';
    expect((await own.send(path, { headers: await own.bearer() })).status).toBe(200);
    expect(own.upstream.requests.map(({ url }) => url)).toEqual([path]);
  });
});

const token = await gateway.issueToken();

async function forwarded(headers: Record<string, string>, query = '') {
  const reply = await gateway.send(`/api/device${query}`, { headers });
  expect(reply.status).toBe(200);
  return gateway.upstream.last();
}
const forwardedBearer = (headers: Record<string, string> = {}) =>
  forwarded({ Authorization: `Bearer ${token}`, ...headers });

describe('a request to the service', () => {
  test('contains only the internal token, no credential of the caller', async () => {
    const signed = gateway.signed({ query: 'a=1' });
    const signedV2 = gateway.signedV2();
    const { 'X-Sign': sign = '' } = signed;
    const secrets = [token, sign, signedV2['X-Sign-V2'], signedV2['X-Nonce']];
    for (const { headers, rawHeaders } of [
      await forwardedBearer(),
      await forwarded(signed, '?a=1'),
      await forwarded(signedV2),
    ]) {
      expect(headers.authorization).toMatch(/^Bearer ey/);
      for (const secret of secrets) {
        expect(JSON.stringify(rawHeaders)).not.toContain(secret);
      }
      for (const name of ['x-access-token', 'x-sign', 'x-sign-v2', 'x-nonce', 'x-client-id']) {
        expect(headers).not.toHaveProperty(name);
      }
      expect(headers).not.toHaveProperty('x-timestamp');
    }
  });

  test.each([
    ['a token', () => forwardedBearer()],
    ['a signature', () => forwarded(gateway.signed())],
  ])(
    'with %s contains an internal token with the principal, signed by the published key, valid for a minute',
    async (_kind, call) => {
      const internal = (await call()).headers.authorization?.slice('Bearer '.length) ?? '';
      const keySet = await gateway.gateway.jwks();
      const { payload } = await jwtVerify(internal, createLocalJWKSet(keySet as never), {
        issuer: publicUrl,
        audience: 'device-service',
        typ: 'at+jwt',
      });

      expect(decodeProtectedHeader(internal).alg).toBe('EdDSA');
      expect(payload).toMatchObject({
        sub: 'demo',
        client_id: 'demo',
        org: 'org-1',
        scope: 'device:read device:write',
        jti: expect.any(String),
      });
      expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(60);
      expect(JSON.stringify(keySet)).not.toContain('"d":');
    },
  );

  test.each([...forgedHeaders, ['a session', 'Cookie', 'session=admin']])(
    'does not contain a forged header that claims %s: %s',
    async (_claim, name, value) => {
      const { headers, rawHeaders } = await forwardedBearer({ [name]: value });
      expect(JSON.stringify(rawHeaders)).not.toContain(`"${value}"`);
      expect(headers).toMatchObject({
        'x-forwarded-for': '127.0.0.1',
        'x-forwarded-proto': 'http',
        'x-forwarded-host': 'gateway.example:8844',
      });
    },
  );

  test('contains no header whose name is an alias of X-Auth-Subject', async () => {
    const aliases = Object.fromEntries(aliasesOfSubject.map((name) => [name, 'admin']));
    expect((await forwardedBearer(aliases)).rawHeaders).not.toContain('admin');
  });

  test('contains the address that a trusted proxy reports, and none to the left of it', async () => {
    const own = await openGateway({ trustedProxies: ['127.0.0.1', '192.0.2.0/24'] });
    const chain = '203.0.113.9, 198.51.100.7, 192.0.2.44';
    const headers = { ...(await own.bearer()), 'X-Forwarded-For': chain };
    await own.send('/api/device', { headers });
    expect(own.upstream.last().headers['x-forwarded-for']).toBe('198.51.100.7');
  });

  test('keeps identity and verification if Connection nominates their headers', async () => {
    const nominated = 'close, X-Sign, X-Client-Id, Authorization, X-Forwarded-For, X-Request-Id';
    const Connection = `${nominated}, Content-Type`;
    const call = (secureKey = gateway.secureKey) =>
      gateway.send('/device-instance', {
        method: 'POST',
        headers: {
          ...gateway.signed({ body: '{"b":3}', secureKey }),
          'Content-Type': 'application/json',
          Connection,
        },
        body: '{"b":3}',
      });
    const good = await call();
    expect(good.status).toBe(200);
    expect(good.headers).toHaveProperty('x-sign');
    expect(gateway.upstream.last().headers).toMatchObject({
      authorization: expect.stringMatching(/^Bearer ey/),
      'x-forwarded-for': '127.0.0.1',
      'content-type': 'application/json',
    });
    expect((await call('another')).status).toBe(401);
  });

  test('contains the headers that describe the request, its id and its trace', async () => {
    const passed = {
      Accept: 'application/json',
      'Accept-Language': 'zh',
      'If-None-Match': '"1"',
      'User-Agent': 'device/1',
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      'Idempotency-Key': 'k-1',
      'Last-Event-ID': '42',
      'Mcp-Session-Id': 's-1',
      'MCP-Protocol-Version': '2025-06-18',
      'X-Request-Id': 'request-12345',
    };
    const { headers } = await forwardedBearer(passed);
    for (const [name, value] of Object.entries(passed)) {
      expect(headers[name.toLowerCase()]).toBe(value);
    }
  });

  test('contains the headers that its route adds, unless Connection nominates them', async () => {
    const requestHeaders = ['x-batch', 'accept'];
    const own = await openGateway({
      routes: deviceRoutes.map((route) => ({ ...route, requestHeaders })),
    });
    const Origin = 'https://app.example';
    await own.saveClient({ clientId: 'browser-app', corsOrigins: [Origin] });
    const sent = { ...own.signed(), 'X-Batch': '7', Accept: 'text/plain', 'X-Other': '8' };

    await own.send('/api/device', { headers: sent });
    expect(own.upstream.last().headers).toMatchObject({ 'x-batch': '7', accept: 'text/plain' });
    expect(own.upstream.last().headers).not.toHaveProperty('x-other');
    await own.send('/api/device', { headers: { ...sent, Connection: 'close, X-Batch' } });
    expect(own.upstream.last().headers).not.toHaveProperty('x-batch');
    const headers = { Origin, 'Access-Control-Request-Method': 'GET' };
    const preflight = await own.send('/api/device', { method: 'OPTIONS', headers });
    expect(preflight.headers['access-control-allow-headers']).toContain('x-batch');
  });

  test('contains the streamed body of an access token request in both framings', async () => {
    const body = JSON.stringify({ name: '中'.repeat(50_000) });
    for (const framing of [{ 'Content-Length': String(Buffer.byteLength(body)) }, {}]) {
      const headers = { Authorization: `Bearer ${token}`, ...framing };
      const sent = { method: 'POST', headers, body };
      expect((await gateway.send('/device-instance', sent)).status).toBe(200);
      expect(gateway.upstream.last().body.toString()).toBe(body);
    }
  });
});
