import { describe, expect, test } from '@jest/globals';
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { deviceRoutes } from '../src/routes/route.ts';
import { bootGateway, publicUrl } from './booted-gateway.ts';
import { aliasesOfSubject, forgedHeaders } from './forged-headers.ts';
import { send } from './http-client.ts';
import { bootSuiteGateway } from './suite-gateway.ts';

const booted = await bootSuiteGateway();
const token = await booted.issueToken();

function bearer(headers: Record<string, string> = {}) {
  return { headers: { Authorization: `Bearer ${token}`, ...headers } };
}

describe('a request to the service', () => {
  test('contains only the internal token, no credential of the caller', async () => {
    await send(booted.port, '/api/device', bearer());
    const byBearer = booted.upstream.last();
    const signed = booted.signed({ query: 'a=1' });
    await send(booted.port, '/api/device?a=1', { headers: signed });
    const bySignature = booted.upstream.last();

    for (const { headers, rawHeaders } of [byBearer, bySignature]) {
      expect(headers.authorization).toMatch(/^Bearer ey/);
      expect(JSON.stringify(rawHeaders)).not.toContain(token);
      expect(JSON.stringify(rawHeaders)).not.toContain(signed['X-Sign']);
      for (const name of ['x-access-token', 'x-sign', 'x-client-id', 'x-timestamp', 'cookie']) {
        expect(headers).not.toHaveProperty(name);
      }
    }
  });

  test('contains an internal token with the principal, signed by the published key, valid for a minute', async () => {
    await send(booted.port, '/api/device', bearer());
    const internal = booted.upstream.last().headers.authorization?.slice('Bearer '.length) ?? '';
    const keys = createLocalJWKSet((await booted.gateway.jwks()) as never);
    const { payload } = await jwtVerify(internal, keys, {
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
    expect(JSON.stringify(await booted.gateway.jwks())).not.toContain('"d":');
  });

  test('contains exactly the device scopes of the client that signed', async () => {
    await send(booted.port, '/api/device', { headers: booted.signed({ query: '' }) });
    const internal = booted.upstream.last().headers.authorization?.split('.')[1] ?? '';
    const claims = JSON.parse(Buffer.from(internal, 'base64url').toString());

    expect(claims).toMatchObject({ sub: 'demo', scope: 'device:read device:write' });
  });

  test.each([...forgedHeaders, ['CG-17', 'Cookie', 'session=admin']])(
    '%s does not contain the header %s',
    async (_id, name, value) => {
      await send(booted.port, '/api/device', bearer({ [name]: value }));

      const seen = booted.upstream.last();
      expect(seen.headers[name.toLowerCase()]).not.toBe(value);
      expect(JSON.stringify(seen.rawHeaders)).not.toContain(`"${value}"`);
      expect(seen.headers['x-forwarded-for']).toBe('127.0.0.1');
      expect(seen.headers['x-forwarded-proto']).toBe('http');
      expect(seen.headers['x-forwarded-host']).toBe('gateway.example:8844');
    },
  );

  test('contains no header whose name is an alias of X-Auth-Subject', async () => {
    await send(
      booted.port,
      '/api/device',
      bearer(Object.fromEntries(aliasesOfSubject.map((name) => [name, 'admin']))),
    );
    expect(booted.upstream.last().rawHeaders).not.toContain('admin');
  });

  test('contains the address that a trusted proxy reports, and none to the left of it', async () => {
    const behindProxy = await bootGateway({ trustedProxies: ['127.0.0.1', '192.0.2.0/24'] });
    const own = await behindProxy.issueToken();
    await send(behindProxy.port, '/api/device', {
      headers: {
        Authorization: `Bearer ${own}`,
        'X-Forwarded-For': '203.0.113.9, 198.51.100.7, 192.0.2.44',
      },
    });

    expect(behindProxy.upstream.last().headers['x-forwarded-for']).toBe('198.51.100.7');
    await behindProxy.close();
  });

  test('keeps identity and verification if Connection nominates their headers', async () => {
    const nominated = 'close, X-Sign, X-Client-Id, Authorization, X-Forwarded-For, X-Request-Id';
    const bySignature = await send(booted.port, '/api/device?b=2', {
      headers: { ...booted.signed({ query: 'b=2' }), Connection: nominated },
    });
    expect(bySignature.status).toBe(200);
    expect(bySignature.headers).toHaveProperty('x-sign');
    expect(booted.upstream.last().headers.authorization).toMatch(/^Bearer ey/);
    expect(booted.upstream.last().headers['x-forwarded-for']).toBe('127.0.0.1');

    const typed = await send(booted.port, '/device-instance', {
      method: 'POST',
      headers: {
        ...booted.signed({ body: '{"b":3}' }),
        'Content-Type': 'application/json',
        Connection: 'close, Content-Type',
      },
      body: '{"b":3}',
    });
    expect(typed.status).toBe(200);
    expect(booted.upstream.last().headers['content-type']).toBe('application/json');

    const bad = await send(booted.port, '/api/device', {
      headers: { ...booted.signed({ secureKey: 'another' }), Connection: nominated },
    });
    expect(bad.status).toBe(401);
  });

  test('contains the headers that describe the request, its id and its trace', async () => {
    const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const passed = {
      Accept: 'application/json',
      'Accept-Language': 'zh',
      'If-None-Match': '"1"',
      'User-Agent': 'device/1',
      traceparent: trace,
      'Idempotency-Key': 'k-1',
      'Last-Event-ID': '42',
      'Mcp-Session-Id': 's-1',
      'MCP-Protocol-Version': '2025-06-18',
      'X-Request-Id': 'request-12345',
    };
    const reply = await send(booted.port, '/api/device', bearer(passed));

    for (const [name, value] of Object.entries(passed)) {
      expect(booted.upstream.last().headers[name.toLowerCase()]).toBe(value);
    }
    expect(reply.headers['x-request-id']).toBe('request-12345');
  });

  test('contains the headers that its route adds, unless Connection nominates them', async () => {
    const requestHeaders = ['x-batch', 'accept'];
    const own = await bootGateway({
      routes: deviceRoutes.map((route) => ({ ...route, requestHeaders })),
    });
    await own.saveClient({ clientId: 'browser-app', corsOrigins: ['https://app.example'] });
    const sent = { ...own.signed(), 'X-Batch': '7', Accept: 'text/plain', 'X-Other': '8' };

    await send(own.port, '/api/device', { headers: sent });
    const { rawHeaders } = own.upstream.last();
    expect(rawHeaders.filter((name) => /^(x-batch|accept|x-other)$/i.test(name))).toEqual([
      'accept',
      'x-batch',
    ]);
    expect(own.upstream.last().headers).toMatchObject({ 'x-batch': '7', accept: 'text/plain' });
    await send(own.port, '/api/device', { headers: { ...sent, Connection: 'close, X-Batch' } });
    expect(own.upstream.last().headers).not.toHaveProperty('x-batch');
    const preflight = await send(own.port, '/api/device', {
      method: 'OPTIONS',
      headers: { Origin: 'https://app.example', 'Access-Control-Request-Method': 'GET' },
    });
    expect(preflight.headers['access-control-allow-headers']).toContain('x-batch');
    await own.close();
  });

  test('contains the streamed body of an access token request in both framings', async () => {
    const body = JSON.stringify({ name: '中'.repeat(50_000) });
    for (const framing of [{ 'Content-Length': String(Buffer.byteLength(body)) }, {}]) {
      const reply = await send(booted.port, '/device-instance', {
        method: 'POST',
        ...bearer({ 'Content-Type': 'application/json', ...framing }),
        body,
      });
      expect(reply.status).toBe(200);
      expect(booted.upstream.last().body.toString()).toBe(body);
    }
  });
});
