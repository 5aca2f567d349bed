import { until } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type InProcessServer, startInProcess } from './in-process-server.ts';

const REQUESTS_PER_MINUTE = 2;

const clientEndpoints = [
  '/token',
  '/platform/oauth2/token',
  '/revoke',
  '/introspect',
  '/par',
  '/device/auth',
];

const pages = [
  'GET /authorize',
  'GET /authorize/an-interaction',
  'GET /sign-in/an-interaction',
  'POST /sign-in/an-interaction',
  'GET /account',
  'GET /device',
  'POST /device',
  'GET /device/an-interaction',
  'GET /logout',
  'POST /logout/confirm',
];

/** Sends a request from an address that no other request has. */
function requestFrom(address: string, url: string, method = 'POST') {
  return fetch(url, {
    method,
    headers: { 'x-forwarded-for': address },
    redirect: 'manual',
    ...(method === 'POST' && { body: new URLSearchParams({ client_id: 'nobody' }) }),
  });
}

describe('the limit of requests from one address', () => {
  let server: InProcessServer;

  beforeAll(async () => {
    server = await startInProcess({
      app: {
        trustedProxies: ['127.0.0.1', '::1'],
        clientRateLimit: { requests: REQUESTS_PER_MINUTE, windowSeconds: 60 },
        pageRateLimit: { requests: REQUESTS_PER_MINUTE, windowSeconds: 60 },
      },
    });
  });
  afterAll(() => server.stop());

  test.each(clientEndpoints)('protects the client endpoint %s', async (path) => {
    const address = `192.0.2.${clientEndpoints.indexOf(path)}`;
    for (let served = 0; served < REQUESTS_PER_MINUTE; served += 1) {
      expect((await requestFrom(address, server.issuer + path)).status).not.toBe(429);
    }
    const rejected = await requestFrom(address, server.issuer + path);
    expect(rejected.status).toBe(429);
    expect(await rejected.json()).toMatchObject({ error: 'too_many_requests' });
    expect(rejected.headers.get('ratelimit')).toMatch(/; r=0; t=\d+$/);
    expect(rejected.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  });

  test.each(pages)('protects the page %s', async (page) => {
    const address = `198.51.100.${pages.indexOf(page)}`;
    const [method, path] = page.split(' ');
    for (let served = 0; served < REQUESTS_PER_MINUTE; served += 1) {
      expect((await requestFrom(address, server.issuer + path, method)).status).not.toBe(429);
    }
    const rejected = await requestFrom(address, server.issuer + path, method);
    expect(rejected.status).toBe(429);
    expect(await rejected.text()).toContain('This network sends too many requests.');
  });

  test('writes its reason to the log', async () => {
    for (const [method, path] of [
      ['POST', '/token'],
      ['GET', '/device'],
    ] as const) {
      const send = () => requestFrom('203.0.113.2', server.issuer + path, method);
      await send();
      await send();
      const requestId = (await send()).headers.get('x-request-id');
      const line = () => server.logLines().find((each) => each.requestId === requestId);
      await until(() => line() !== undefined);
      expect(line()).toMatchObject({ code: 'too_many_requests', reason: 'request_limit' });
    }
  });

  test('counts client endpoints, introspection and pages separately', async () => {
    const statuses: number[] = [];
    for (const path of ['/token', '/revoke', '/introspect', '/introspect']) {
      statuses.push((await requestFrom('203.0.113.1', server.issuer + path)).status);
    }
    for (const path of ['/device', '/logout']) {
      statuses.push((await requestFrom('203.0.113.1', server.issuer + path, 'GET')).status);
    }
    expect(statuses).not.toContain(429);
    expect((await requestFrom('203.0.113.1', `${server.issuer}/par`)).status).toBe(429);
  });
});

test('Without settings, an address may send 6000 requests to client endpoints and 1200 to pages.', async () => {
  const server = await startInProcess();
  try {
    const policyOf = async (path: string, method: string) => {
      const { headers } = await requestFrom('', server.issuer + path, method);
      return headers.get('ratelimit-policy');
    };
    expect(await policyOf('/token', 'POST')).toMatch(/^"address"; q=6000; w=60; pk=/);
    expect(await policyOf('/introspect', 'POST')).toMatch(/^"address"; q=6000; w=60; pk=/);
    expect(await policyOf('/device', 'GET')).toMatch(/^"address"; q=1200; w=60; pk=/);
  } finally {
    await server.stop();
  }
});
