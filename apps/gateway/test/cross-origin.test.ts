import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type BootedGateway, bootGateway, closeUnharmed, publicUrl } from './booted-gateway.ts';
import { send } from './http-client.ts';

const origin = 'https://app.example';
let booted: BootedGateway;
let token: string;

beforeAll(async () => {
  booted = await bootGateway();
  await booted.saveClient({ clientId: 'browser-app', corsOrigins: [origin] });
  token = await booted.issueToken({ clientId: 'browser-app' });
});
afterAll(() => closeUnharmed(booted));
beforeEach(() => {
  booted.upstream.requests.length = 0;
});

function preflight(from: string, headers: Record<string, string> = {}) {
  return send(booted.port, '/api/device', {
    method: 'OPTIONS',
    headers: { Origin: from, 'Access-Control-Request-Method': 'GET', ...headers },
  });
}

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
      'access-control-allow-headers': expect.stringContaining('Authorization'),
      'access-control-max-age': '600',
      vary: 'Origin',
    });
    expect(reply.headers).not.toHaveProperty('access-control-allow-credentials');
    expect(booted.upstream.requests).toEqual([]);
  });

  test('may send and read the headers of both signature versions', async () => {
    const allowed = (await preflight(origin)).headers['access-control-allow-headers'];
    expect(String(allowed).split(', ')).toEqual(
      expect.arrayContaining(['X-Client-Id', 'X-Timestamp', 'X-Sign', 'X-Sign-V2', 'X-Nonce']),
    );
    await booted.saveClient(
      { clientId: 'browser-signer', corsOrigins: [origin] },
      booted.secureKey,
    );
    const reply = await send(booted.port, '/api/device', {
      headers: { Origin: origin, ...booted.signedV2({ clientId: 'browser-signer' }) },
    });
    expect(reply.headers).toHaveProperty('x-sign-v2');
    const exposed = reply.headers['access-control-expose-headers'];
    expect(String(exposed).split(', ')).toEqual(
      expect.arrayContaining(['X-Timestamp', 'X-Sign', 'X-Sign-V2']),
    );
  });

  test('can read the reply to its own token, and an error', async () => {
    const good = await send(booted.port, '/api/device', {
      headers: { Origin: origin, Authorization: `Bearer ${token}` },
    });
    const bad = await send(booted.port, '/api/device', {
      headers: { Origin: origin, Authorization: 'Bearer unknown' },
    });

    expect([good.status, bad.status]).toEqual([200, 401]);
    for (const { headers } of [good, bad]) {
      expect(headers['access-control-allow-origin']).toBe(origin);
      expect(headers['access-control-expose-headers']).toContain('X-Total-Count');
    }
  });

  test('cannot read the reply to a token of a client that did not register its origin', async () => {
    const other = await booted.issueToken();
    const reply = await send(booted.port, '/api/device', {
      headers: { Origin: origin, Authorization: `Bearer ${other}` },
    });

    expect(reply.headers).not.toHaveProperty('access-control-allow-origin');
    expect(reply.headers.vary).toBe('Origin');
  });

  test.each([
    'https://evil.example',
    'null',
    'https://app.example.evil.example',
    'http://app.example',
  ])('gets no CORS headers for the unregistered origin %s', async (from) => {
    const asked = await preflight(from);
    expect(asked.status).toBe(401);
    expect(asked.headers).not.toHaveProperty('access-control-allow-origin');
    const reply = await send(booted.port, '/api/device', {
      headers: { Origin: from, Authorization: `Bearer ${token}` },
    });
    expect(reply.status).toBe(200);
    expect(reply.headers).not.toHaveProperty('access-control-allow-origin');
  });
});

describe('the protected resource metadata', () => {
  test('names the resource and its authorization server without authentication', async () => {
    const reply = await send(booted.port, '/.well-known/oauth-protected-resource', {
      headers: { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example' },
    });

    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({
      resource: publicUrl,
      authorization_servers: ['http://login.example:9000'],
      scopes_supported: ['device:read', 'device:write', 'device:log', 'device:report'],
      bearer_methods_supported: ['header', 'query'],
      resource_name: 'Device platform API',
    });
    expect(booted.upstream.requests).toEqual([]);
  });

  test('has the URL that the challenge contains', async () => {
    const { headers } = await send(booted.port, '/api/device');
    const url = /resource_metadata="([^"]+)"/.exec(headers['www-authenticate'] ?? '')?.[1] ?? '';
    expect(url).toBe(`${publicUrl}/.well-known/oauth-protected-resource`);
    expect((await send(booted.port, new URL(url).pathname)).status).toBe(200);
  });

  test('does not list tokens in the query in the strict profile', async () => {
    const strict = await bootGateway({ strict: true });
    const { json } = await send(strict.port, '/.well-known/oauth-protected-resource');
    expect(json.bearer_methods_supported).toEqual(['header']);
    await strict.close();
  });
});
