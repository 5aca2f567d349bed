// requires: redis-server
import { startRedisServer, until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { deviceRoutes } from '../src/routes/route.ts';
import { publicUrl } from './booted-gateway.ts';
import { bootSuiteGateway, onEngines, openGateway } from './suite-gateway.ts';
import { ask, CALLER, forwardAuth } from './verification-calls.ts';

const SCOPED = '/_verify?scope=device:read';

describe.each(await onEngines((options) => bootSuiteGateway({ ...forwardAuth, ...options })))(
  'a verification for another proxy on $engine',
  ({ system: booted }) => {
    async function claimsOf(authorization: string | undefined, audience: string) {
      const keys = createLocalJWKSet({ keys: [...(await booted.gateway.jwks()).keys] });
      const token = authorization?.replace(/^Bearer /, '') ?? '';
      return (await jwtVerify(token, keys, { issuer: publicUrl, audience, typ: 'at+jwt' })).payload;
    }

    test.each(['Original', 'Forwarded'] as const)(
      'names the caller for headers of the pair X-%s-*',
      async (pair) => {
        const reply = await ask(booted, await booted.bearer(), { pair });
        expect([reply.status, reply.body.length]).toEqual([200, 0]);
        expect(reply.headers).toMatchObject({
          'x-auth-client-id': 'demo',
          'x-auth-subject': 'demo',
          'x-auth-organization': 'org-1',
          'x-auth-scope': 'device:read device:write',
          'x-request-id': expect.any(String),
          'cache-control': 'no-store',
          'content-length': '0',
        });
        expect(reply.headers).not.toHaveProperty('x-auth-error');
        expect(await claimsOf(reply.headers.authorization, 'device-service')).toMatchObject({
          client_id: 'demo',
          sub: 'demo',
          org: 'org-1',
          scope: 'device:read device:write',
        });
        expect(booted.upstream.requests).toEqual([]);
      },
    );

    test('requires the scope of the route, and that of the query instead for any path', async () => {
      const reader = await booted.bearer({ scope: 'device:read' });
      const write = { method: 'POST', uri: '/device-instance' };
      const denied = await ask(booted, reader, write);
      expect([denied.status, denied.json.code]).toEqual([403, 'access_denied']);
      expect(denied.headers['x-auth-error']).toBe('access_denied');
      expect(denied.headers['www-authenticate']).toContain('scope="device:write"');

      const own = { method: 'PUT', uri: '/reports/7?a=1', path: SCOPED };
      const allowed = await ask(booted, reader, own);
      expect(allowed.status).toBe(200);
      await claimsOf(allowed.headers.authorization, 'forward-auth');
      const path = '/_verify?scope=device:write&audience=reports';
      expect((await ask(booted, reader, { ...own, path })).status).toBe(403);
      const writer = await booted.bearer();
      const named = await ask(booted, writer, { ...own, path });
      await claimsOf(named.headers.authorization, 'reports');
    });

    test('answers a path without a route with 404, and a wrong method with 405, after the credential', async () => {
      const good = await booted.bearer();
      const statuses = async (headers: Record<string, string>) => [
        (await ask(booted, headers, { uri: '/reports' })).status,
        (await ask(booted, headers, { method: 'PATCH' })).status,
        (await ask(booted, headers, { method: 'POST', uri: '/api/v1/token' })).status,
        (await ask(booted, headers, { method: 'OPTIONS' })).status,
      ];
      expect(await statuses(good)).toEqual([404, 405, 404, 405]);
      expect(await statuses({})).toEqual([401, 401, 401, 401]);
    });

    test('accepts every kind of credential, and a signed request once', async () => {
      const body = '{}';
      const issued = await booted.send('/api/v1/token', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...booted.signed({ body }) },
        body,
      });
      booted.keepSecret(issued.json.result);
      expect((await ask(booted, { 'X-Access-Token': issued.json.result })).status).toBe(200);
      expect(
        (await ask(booted, booted.signed({ query: 'a=1' }), { uri: '/api/device?a=1' })).status,
      ).toBe(200);
      const signed = booted.signedV2({ path: '/api/device', query: 'a=2' });
      const asked = { uri: '/api/device?a=2' };
      const [first, second] = [await ask(booted, signed, asked), await ask(booted, signed, asked)];
      expect([first.status, second.status]).toEqual([200, 401]);
      expect(second.headers['x-auth-error']).toBe('replayed_request');
      for (const reply of [first, second]) {
        expect(reply.headers).not.toHaveProperty('x-sign-v2');
      }
    });

    test('uses up a nonce together with the requests that the gateway forwards', async () => {
      const headers = booted.signedV2({});
      expect((await ask(booted, headers)).status).toBe(200);
      const again = await booted.send('/api/device', { headers });
      expect([again.status, again.json.code]).toEqual([401, 'replayed_request']);
    });

    test.each(['POST', 'PUT', 'PATCH'])(
      'rejects a signed %s with a code of its own, even if the signed body is empty',
      async (method) => {
        const uri = '/device-instance';
        for (const headers of [
          booted.signed({ body: '' }),
          booted.signedV2({ method, path: uri }),
        ]) {
          const reply = await ask(booted, headers, { method, uri, path: SCOPED });
          expect([reply.status, reply.json.code]).toEqual([401, 'signed_body_not_verifiable']);
          expect(reply.headers['x-auth-error']).toBe('signed_body_not_verifiable');
        }
      },
    );

    test('notices a revocation', async () => {
      const token = await booted.issueToken();
      const headers = { Authorization: `Bearer ${token}` };
      expect((await ask(booted, headers)).status).toBe(200);
      await booted.identity.revocations.token(token);
      const reply = await ask(booted, headers);
      expect([reply.status, reply.headers['x-auth-error']]).toEqual([401, 'unauthorized']);
    });

    test('is logged with the method and operation of the original request, and counted', async () => {
      const reader = await booted.bearer({ scope: 'device:read' });
      const request = { method: 'DELETE', uri: '/api/v1/device/d1?secret=1' };
      const denied = await ask(booted, reader, request);
      await ask(booted, reader, { ...request, path: SCOPED });
      const id = denied.headers['x-request-id'];
      const lineOf = () => booted.logLines().find(({ requestId }) => requestId === id);
      await until(() => lineOf() !== undefined);
      const line = lineOf();
      expect(line).toMatchObject({
        method: 'DELETE',
        status: 403,
        operation: 'device.delete',
        clientId: 'demo',
        credential: 'bearer',
        code: 'access_denied',
        reason: 'access_denied',
      });
      expect(JSON.stringify(line)).not.toContain('secret');
      expect(booted.metrics()).toMatch(
        /gatehouse_requests_total\{operation="forward-auth",credential="bearer",outcome="success",code="2xx"\} \d/,
      );
      expect(booted.metrics()).toContain('gatehouse_verification_duration_seconds');
    });
  },
);

test('a verification counts against the limits of the client, the address and the route', async () => {
  const one = { requests: 1, windowSeconds: 600 };
  const list = deviceRoutes.filter(({ operation }) => operation === 'device.list');
  const limited = list.map((route) => ({ ...route, path: '/limited', rateLimit: one }));
  const booted = await openGateway({
    ...forwardAuth,
    routes: [...list, ...limited],
    clientRateLimit: { requests: 3, windowSeconds: 600 },
    addressRateLimit: one,
  });
  const good = await booted.bearer();
  const uri = '/limited';
  expect((await ask(booted, good, { uri })).status).toBe(200);
  const second = await ask(booted, good, { uri });
  expect([second.status, second.headers['x-auth-error']]).toEqual([429, 'too_many_requests']);
  expect(Number(second.headers['retry-after'])).toBeGreaterThan(0);
  expect((await ask(booted, good)).status).toBe(200);
  expect((await ask(booted, good)).status).toBe(429);

  const anonymous = async (address: string) =>
    (await ask(booted, { 'X-Forwarded-For': address })).status;
  expect(await anonymous('198.51.100.1')).toBe(401);
  expect(await anonymous('198.51.100.1')).toBe(429);
  expect(await anonymous('198.51.100.2')).toBe(401);
});

test('a browser counts against the limit of its user, not of the address that it shares', async () => {
  const one = { requests: 1, windowSeconds: 600 };
  const booted = await openGateway({ ...forwardAuth, addressRateLimit: one, clientRateLimit: one });
  const { settings, store, credentialHash } = booted.identity;
  const host = 'reports.example';
  await settings.apply({ browserHosts: [{ host, name: 'Reports', enabled: true }] });
  const path = `/_verify?browser=${host}`;
  const statusFor = async (name: string) => {
    const user = {
      userId: name,
      username: name,
      name,
      orgId: 'org-1',
      enabled: true,
      notBefore: 0,
    };
    await store.set(`user:${name}`, JSON.stringify({ ...user, passwordHash: 'none' }));
    const session = { kind: 'AccessToken', clientId: `gatehouse:browser:${host}`, accountId: name };
    const iat = Math.floor(Date.now() / 1000);
    const text = JSON.stringify({ ...session, iat, exp: iat + 600 });
    await store.set(`browser-session:${credentialHash(name)}`, text);
    return (await ask(booted, { Cookie: `__Host-gatehouse=${name}` }, { path })).status;
  };
  const page = { Accept: 'text/html' };
  expect((await ask(booted, page, { path })).status).toBe(302);
  expect((await ask(booted, page, { path })).status).toBe(429);
  expect(await statusFor('alice')).toBe(200);
  expect(await statusFor('alice')).toBe(429);
  expect(await statusFor('bob')).toBe(200);
});

test('a verification applies the addresses from which a client may call', async () => {
  const booted = await openGateway(forwardAuth);
  await booted.saveClient({ clientId: 'here', ipAllowList: [CALLER] }, booted.secureKey);
  const from = (address: string) =>
    ask(booted, { ...booted.signedV2({ clientId: 'here' }), 'X-Forwarded-For': address });
  expect((await from(CALLER)).status).toBe(200);
  expect((await from('198.51.100.1')).status).toBe(403);
});

test('a verification without the store gets 503', async () => {
  const own = await startRedisServer();
  const booted = await openGateway({ ...forwardAuth, storeUrl: own.url });
  const good = await booted.bearer();
  expect((await ask(booted, good, { path: SCOPED })).status).toBe(200);
  const declared = { host: 'reports.example', name: 'Reports', enabled: true };
  await booted.identity.settings.apply({ browserHosts: [declared] });
  const browser = { Accept: 'text/html', Cookie: '__Host-gatehouse=x' };
  const path = `${SCOPED}&browser=reports.example`;
  expect((await ask(booted, browser, { path })).status).toBe(302);
  await own.stop();
  for (const headers of [good, booted.signedV2({}), browser]) {
    const reply = await ask(booted, headers, { path: headers === browser ? path : SCOPED });
    expect([reply.status, reply.headers['x-auth-error']]).toEqual([503, 'service_unavailable']);
    expect(reply.headers['retry-after']).toBe('1');
    expect(reply.headers).not.toHaveProperty('x-auth-subject');
  }
});
