import { describe, expect, test } from '@jest/globals';
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { deviceRoutes } from '../src/routes/route.ts';
import { publicUrl } from './booted-gateway.ts';
import { aliasesOfSubject, forgedHeaders } from './forged-headers.ts';
import { bootSuiteGateway, openGateway } from './suite-gateway.ts';

const gateway = await bootSuiteGateway();
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
