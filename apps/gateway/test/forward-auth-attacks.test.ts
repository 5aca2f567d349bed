import { describe, expect, test } from '@jest/globals';
import { deviceRoutes } from '../src/routes/route.ts';
import { type Received, sendRaw } from './http-client.ts';
import { bootSuiteGateway, openGateway } from './suite-gateway.ts';
import { ask, CALLER, forwardAuth } from './verification-calls.ts';

const SCOPED = '/_verify?scope=device:read';
const gateway = await bootSuiteGateway(forwardAuth);
const good = await gateway.bearer();

/** Sends exactly these headers after the credential. */
const askWith = (headers: readonly string[]) =>
  gateway.send(SCOPED, {
    headers: ['Authorization', good.Authorization ?? '', 'X-Forwarded-For', CALLER, ...headers],
  });

const reasonOf = ({ headers }: Received) =>
  gateway.logLines().find(({ requestId }) => requestId === headers['x-request-id'])?.reason;

function expectInvalid(reply: Received): void {
  expect([reply.status, reply.json.code]).toEqual([400, 'illegal_argument']);
  expect(reasonOf(reply)).toBe('verification_invalid');
}

const original = ['X-Original-Method', 'GET', 'X-Original-URI', '/api/device'];
const forwarded = ['X-Forwarded-Method', 'GET', 'X-Forwarded-Uri', '/api/device'];

describe('the headers that name the original request', () => {
  test.each([
    ['both pairs, even if they agree', [...original, ...forwarded]],
    ['a pair and a part of the other', [...original, 'X-Forwarded-Method', 'GET']],
    ['parts of both pairs', ['X-Original-Method', 'GET', 'X-Forwarded-Uri', '/api/device']],
    ['a URI that is sent twice', [...original, 'x-original-uri', '/api/device']],
    ['a method that is sent twice', [...forwarded, 'X-FORWARDED-METHOD', 'DELETE']],
    ['no header', []],
    ['no method', ['X-Original-URI', '/api/device']],
    ['no URI', ['X-Forwarded-Method', 'GET']],
    ['an empty method', ['X-Original-Method', '', 'X-Original-URI', '/api/device']],
    ['an empty URI', ['X-Original-Method', 'GET', 'X-Original-URI', '']],
    ['names with underscores', ['X_Original_Method', 'GET', 'X_Original_URI', '/api/device']],
  ])('must not have %s', async (_name, headers) => {
    const reply = await askWith(headers);
    expectInvalid(reply);
    expect(reply.headers['x-auth-error']).toBe('illegal_argument');
  });

  test.each(['get', 'TRACE', 'PROPFIND', 'GET, DELETE', 'GET /x'])(
    'must not have the method %p',
    async (method) => {
      expect((await ask(gateway, good, { method, path: SCOPED })).status).toBe(405);
    },
  );

  test.each([
    '/public/../api/device',
    '/x/..;/api/device',
    '/api%2fdevice',
    '//api/device',
    '/api/device#x',
    '/api/device?a=%zz',
    'https://gateway.example/api/device',
    'api/device',
    // The proxy forwards this path as it is, and the service might not decode it.
    '/api/%64evice',
    '/api/%7eme',
  ])('must not have the URI %p', async (uri) => {
    for (const path of [SCOPED, '/_verify']) {
      const reply = await ask(gateway, good, { uri, path });
      expect([reply.status, reply.json.code]).toEqual([400, 'illegal_argument']);
    }
  });

  test('CWE-863 a trailing slash is not removed, because the proxy forwards it', async () => {
    expect((await ask(gateway, good, { uri: '/api/device/' })).status).toBe(404);
  });

  test('may have a path with escapes that every server reads in one way', async () => {
    const uri = '/api/v1/device/a%20b%c3%a9/_detail?name=a%20b';
    expect((await ask(gateway, good, { uri })).status).toBe(200);
  });
});

describe('the verification request', () => {
  test('is rejected from a peer that is not a trusted proxy, whatever it claims', async () => {
    const own = await openGateway({ ...forwardAuth, trustedProxies: ['10.0.0.1'] });
    const headers = { ...(await own.bearer()), 'X-Forwarded-For': '10.0.0.1' };
    const reply = await ask(own, headers, { path: SCOPED });
    expect([reply.status, reply.json.code]).toEqual([403, 'access_denied']);
    expect(reply.json.message).toContain('TRUSTED_PROXIES');
    expect(reply.headers).not.toHaveProperty('authorization');
  });

  test('is a path like any other unless forward auth is enabled', async () => {
    const own = await openGateway({ trustedProxies: ['127.0.0.1'] });
    expect((await ask(own, {})).status).toBe(401);
    expect((await ask(own, await own.bearer())).status).toBe(404);
  });

  test.each(['/_verify2', '/_verify%2f', '/x/_verify', '/_VERIFY'])(
    'is not asked at %p',
    async (path) => {
      expect((await ask(gateway, good, { path })).headers).not.toHaveProperty('x-auth-subject');
    },
  );

  test.each([
    'scope=',
    'scope=admin',
    'scope=device:read&scope=device:write',
    'scopes=device:read',
    'audience=reports',
    'scope=device:read&audience=',
    'scope=device:read&audience=A%20b',
    'scope=device:read&x=1',
  ])('must not have the query %p', async (query) => {
    expectInvalid(await ask(gateway, good, { path: `/_verify?${query}` }));
  });

  test('takes no scope from the path and query that Envoy appends, which the caller chose', async () => {
    const reader = await gateway.bearer({ scope: 'device:read' });
    const asked = { method: 'POST', uri: '/device-instance?scope=device:read', by: 'POST' };
    const path = '/_verify/device-instance?scope=device:read';
    expect((await ask(gateway, reader, { ...asked, path })).status).toBe(403);
    expect((await ask(gateway, good, { ...asked, path })).status).toBe(200);
  });

  test('CWE-444 must not have a body, nor announce one', async () => {
    const announced = await sendRaw(
      gateway.port,
      `GET ${SCOPED} HTTP/1.1\r\nHost: g\r\nAuthorization: ${good.Authorization}\r\n` +
        'X-Original-Method: POST\r\nX-Original-URI: /reports\r\nContent-Length: 40\r\n\r\n' +
        'GET /api/device HTTP/1.1\r\nHost: g\r\n\r\n',
    );
    expect(announced.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400']);
    expect(announced).toContain('must not be sent to /_verify');
  });

  test('gets no body as answer to HEAD, and the same status', async () => {
    const refused = await ask(gateway, {}, { by: 'HEAD' });
    expect([refused.status, refused.body.length]).toEqual([401, 0]);
    expect(refused.headers['x-auth-error']).toBe('unauthorized');
    expect((await ask(gateway, good, { by: 'HEAD' })).status).toBe(200);
  });

  test('may carry headers of the original request that the gateway would not forward', async () => {
    const headers = {
      ...good,
      'Content-Encoding': 'gzip',
      Upgrade: 'websocket',
      Connection: 'Upgrade',
    };
    expect((await ask(gateway, headers, { method: 'POST', path: SCOPED, uri: '/up' })).status).toBe(
      200,
    );
  });

  test('opens no WebSocket, even if a route matches its path', async () => {
    const routes = deviceRoutes
      .filter(({ operation }) => operation === 'device.list')
      .map((route) => ({ ...route, path: '/{any}', webSocket: true }));
    const own = await openGateway({ ...forwardAuth, routes });
    const offer = { Connection: 'Upgrade', Upgrade: 'websocket' };
    const reply = await ask(own, { ...(await own.bearer()), ...offer }, { uri: '/socket' });
    expect([reply.status, reply.headers['x-auth-client-id']]).toEqual([200, 'demo']);
    expect(own.upstream.requests).toEqual([]);
  });

  test('with headers that are too large gets 431', async () => {
    const reply = await ask(gateway, good, {
      uri: `/reports?${'a'.repeat(17 * 1024)}`,
      path: SCOPED,
    });
    expect(reply.status).toBe(431);
  });
});

describe('a credential of the original request', () => {
  test('is required for OPTIONS and preflights, whose 204 would let the proxy forward them', async () => {
    const origin = 'https://app.example';
    await gateway.saveClient({ clientId: 'browser', corsOrigins: [origin] });
    const preflight = { Origin: origin, 'Access-Control-Request-Method': 'DELETE' };
    for (const by of ['GET', 'OPTIONS']) {
      for (const path of ['/_verify', SCOPED, '/_verify/api/device']) {
        const reply = await ask(gateway, preflight, { method: 'OPTIONS', by, path });
        expect(reply.status).toBe(401);
      }
    }
    const uri = '/.well-known/oauth-protected-resource';
    expect((await ask(gateway, {}, { uri })).status).toBe(401);
  });

  test('is not accepted in the query, which the proxy would pass on', async () => {
    const token = good.Authorization?.slice('Bearer '.length) ?? '';
    const reply = await ask(gateway, {}, { uri: `/reports?access_token=${token}`, path: SCOPED });
    expect([reply.status, reply.json.code]).toEqual([401, 'unauthorized']);
    expect(reasonOf(reply)).toBe('token_in_query');
    const two = await ask(gateway, good, { uri: `/reports?access_token=${token}`, path: SCOPED });
    expect([two.status, two.json.code]).toEqual([400, 'multiple_credentials']);
    expect((await ask(gateway, {}, { path: `${SCOPED}&access_token=${token}` })).status).toBe(400);
  });

  test('is a signature of the original request, not of the verification request', async () => {
    const signed = () => gateway.signedV2({ method: 'GET', path: '/reports', query: 'a=1' });
    const code = async (uri: string, method: string) =>
      (await ask(gateway, signed(), { uri, method, path: SCOPED })).json?.code;
    expect(await code('/reports?a=2', 'GET')).toBe('invalid_signature');
    expect(await code('/reports/?a=1', 'GET')).toBe('invalid_signature');
    expect(await code('/reports?a=1', 'DELETE')).toBe('invalid_signature');
    expect(await code('/reports?a=1', 'GET')).toBeUndefined();
    const verification = gateway.signedV2({ path: '/_verify', query: 'scope=device:read' });
    expect((await ask(gateway, verification, { path: SCOPED })).json.code).toBe(
      'invalid_signature',
    );
  });

  test('must not be a version 1 signature that covers two different queries', async () => {
    const sent = async (query: string) =>
      ask(gateway, gateway.signed({ query }), { uri: `/reports?${query}`, path: SCOPED });
    const repeated = await sent('id=1&id=2');
    expect([repeated.status, repeated.json.code]).toEqual([400, 'ambiguous_request']);
    expect(reasonOf(repeated)).toBe('signed_parameter_repeated');
    expect((await sent('b=1+2&a=x%2Cy&')).status).toBe(200);
    const second = gateway.signedV2({ path: '/reports', query: 'id=1&id=2' });
    expect((await ask(gateway, second, { uri: '/reports?id=1&id=2', path: SCOPED })).status).toBe(
      200,
    );
  });
});
