import { describe, expect, test } from '@jest/globals';
import { publicUrl } from './booted-gateway.ts';
import { bootSuiteGateway, openGateway } from './suite-gateway.ts';

const origin = 'https://app.example';
const gateway = await bootSuiteGateway();
await gateway.saveClient({ clientId: 'browser-app', corsOrigins: [origin] }, gateway.secureKey);
const authorization = await gateway.bearer({ clientId: 'browser-app' });

const get = (Origin: string, headers: Record<string, string>) =>
  gateway.send('/api/device', { headers: { Origin, ...headers } });
const preflight = (Origin: string, headers: Record<string, string> = {}) =>
  gateway.send('/api/device', {
    method: 'OPTIONS',
    headers: { Origin, 'Access-Control-Request-Method': 'GET', ...headers },
  });

describe('a browser application', () => {
  test('gets an answer to its preflight from the gateway, regardless of other headers', async () => {
    const reply = await preflight(origin, {
      'Access-Control-Request-Headers': 'authorization',
      'X-User-Id': 'admin',
      'X-Auth-Subject': 'admin',
    });

    expect(reply.status).toBe(204);
    expect(reply.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-max-age': '600',
      vary: 'Origin',
    });
    expect(reply.headers).not.toHaveProperty('access-control-allow-credentials');
    const allowed = String(reply.headers['access-control-allow-headers']).split(', ');
    const signature = ['X-Client-Id', 'X-Timestamp', 'X-Sign', 'X-Sign-V2', 'X-Nonce'];
    expect(allowed).toEqual(expect.arrayContaining(['Authorization', ...signature]));
    expect(gateway.upstream.requests).toEqual([]);
  });

  test('can read the reply to its own credential with its headers, and an error', async () => {
    const replies = await Promise.all([
      get(origin, authorization),
      get(origin, gateway.signedV2({ clientId: 'browser-app' })),
      get(origin, { Authorization: 'Bearer unknown' }),
    ]);

    expect(replies.map(({ status }) => status)).toEqual([200, 200, 401]);
    for (const { headers } of replies) {
      expect(headers['access-control-allow-origin']).toBe(origin);
      const exposed = String(headers['access-control-expose-headers']).split(', ');
      const names = ['X-Total-Count', 'X-Timestamp', 'X-Sign', 'X-Sign-V2'];
      expect(exposed).toEqual(expect.arrayContaining(names));
    }
  });

  test('cannot read the reply to a token of a client that did not register its origin', async () => {
    const reply = await get(origin, await gateway.bearer());
    expect(reply.headers).not.toHaveProperty('access-control-allow-origin');
    expect(reply.headers.vary).toBe('Origin');
  });

  test.each([
    'https://evil.example',
    'null',
    'https://app.example.evil.example',
    'http://app.example',
  ])('gets no CORS headers for the unregistered origin %s', async (from) => {
    const replies = [await preflight(from), await get(from, authorization)];
    expect(replies.map(({ status }) => status)).toEqual([401, 200]);
    for (const { headers } of replies) {
      expect(headers).not.toHaveProperty('access-control-allow-origin');
    }
  });
});

describe('the protected resource metadata', () => {
  const path = '/.well-known/oauth-protected-resource';

  test('names the resource and its authorization server without authentication', async () => {
    const headers = { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example' };
    const reply = await gateway.send(path, { headers });

    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({
      resource: publicUrl,
      authorization_servers: ['http://login.example:9000'],
      scopes_supported: ['device:read', 'device:write', 'device:log', 'device:report'],
      bearer_methods_supported: ['header', 'query'],
      resource_name: 'Device platform API',
    });
    expect(gateway.upstream.requests).toEqual([]);
  });

  test.each(['POST', 'PUT', 'DELETE'])('answers %s with 405', async (method) => {
    const reply = await gateway.send(path, { method });
    expect([reply.status, reply.json.code]).toEqual([405, 'method_not_allowed']);
    expect(reply.headers.allow).toBe('GET, HEAD, OPTIONS');
  });

  test('does not list tokens in the query in the strict profile', async () => {
    const { json } = await (await openGateway({ strict: true })).send(path);
    expect(json.bearer_methods_supported).toEqual(['header']);
  });
});
