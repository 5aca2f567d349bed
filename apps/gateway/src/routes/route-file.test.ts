import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigurationError } from '@gatehouse/server/configuration';
import { afterAll, describe, expect, test } from '@jest/globals';
import { aliasesOfSubject, forgedHeaders } from '../../test/forged-headers.ts';

import { describeRoutes, deviceRoutes } from './route.ts';
import { loadRouting } from './route-file.ts';

const directory = mkdtempSync(join(tmpdir(), 'routes-'));
afterAll(() => rmSync(directory, { recursive: true }));

function load(content: unknown) {
  const path = join(directory, 'routes.json');
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return loadRouting(path, { url: 'http://localhost:8850' });
}

function problemsOf(content: unknown): readonly string[] {
  try {
    load(content);
  } catch (error) {
    if (error instanceof ConfigurationError) {
      return error.problems.map(({ name, message }) => `${name}: ${message}`);
    }
    throw error;
  }
  return [];
}

const report = { operation: 'report.list', method: 'GET', path: '/reports', scope: 'device:read' };

describe('loadRouting', () => {
  test('returns the built-in table without a file', () => {
    const { routes, upstreams } = loadRouting(undefined, { url: 'http://localhost:8850' });
    expect(routes).toBe(deviceRoutes);
    expect([...upstreams]).toEqual([
      ['device-service', { url: 'http://localhost:8850', health: '/live' }],
    ]);
  });

  test('adds routes to the built-in table, with defaults for omitted fields', () => {
    const { routes, upstreams } = load({
      upstreams: { reports: { url: 'http://localhost:9100', health: '/health' } },
      routes: [{ ...report, upstream: 'reports' }],
    });
    expect(upstreams.get('reports')).toEqual({
      url: 'http://localhost:9100',
      health: '/health',
    });
    expect(routes).toHaveLength(deviceRoutes.length + 1);
    expect(routes[0]).toEqual({
      ...report,
      upstream: 'reports',
      resource: undefined,
      roles: [],
      claims: [],
      credentials: ['signature', 'access-token', 'bearer'],
      timeoutMilliseconds: 15_000,
      bodyLimitBytes: 1024 * 1024,
      requestHeaders: [],
      rateLimit: undefined,
      streaming: false,
      webSocket: false,
    });
  });

  test('replaces a built-in route that matches the same requests', () => {
    const { routes } = load({
      routes: [{ ...report, path: '/api/v1/device/{anything}/_detail', timeoutSeconds: 1 }],
    });
    expect(routes).toHaveLength(deviceRoutes.length);
    expect(routes.map(({ path }) => path)).not.toContain('/api/v1/device/{deviceId}/_detail');
  });

  test('omits the built-in routes if `builtIn` is false', () => {
    expect(load({ builtIn: false, routes: [report] }).routes).toHaveLength(1);
  });

  test('rejects signed requests on streaming routes and WebSocket routes', () => {
    const { routes } = load({ builtIn: false, routes: [{ ...report, streaming: true }] });
    expect(routes[0]?.credentials).toEqual(['access-token', 'bearer']);
    expect(
      problemsOf({ routes: [{ ...report, webSocket: true, credentials: ['signature'] }] }),
    ).toEqual([expect.stringContaining('routes.0.credentials')]);
  });

  test('adds the acr and the age of a sign-in to a route', () => {
    const acr = 'urn:gatehouse:acr:2';
    const { routes } = load({ builtIn: false, routes: [{ ...report, acr, maxAge: 60 }] });
    expect(routes[0]).toMatchObject({ acr, maxAge: 60 });
    for (const wrong of [{ acr: 'gold' }, { maxAge: 0 }]) {
      expect(problemsOf({ routes: [{ ...report, ...wrong }] })).toHaveLength(1);
    }
  });

  test('adds names of headers to a route, in lowercase', () => {
    const requestHeaders = ['X-Batch', 'Mcp-Session-Id', 'Last-Event-ID', 'User-Agent', 'X-Zip'];
    const { routes } = load({ builtIn: false, routes: [{ ...report, requestHeaders }] });
    expect(routes[0]?.requestHeaders).toEqual(requestHeaders.map((name) => name.toLowerCase()));
  });

  test.each([
    ...forgedHeaders.map(([_id, name]) => name),
    ...aliasesOfSubject,
    ...['authorization', 'connection', 'content-length', 'content-type', 'keep-alive'],
    ...['transfer-encoding', 'x-access-token', 'x-client-id', 'x-failure', 'x-forwarded-for'],
    ...['x-nonce', 'x-request-id', 'x-sign', 'x-sign-v2', 'x-timestamp'],
    ...['Host', 'X-Host', 'Proxy-Authorization', 'TE', 'Trailer', 'Upgrade', 'Via', 'Expect'],
    ...['Content-Encoding', 'Cookie', 'Set-Cookie', 'X-Api-Key', 'X-Session-Id', 'X-JWT'],
    ...['X-Client-IP', 'True-Client-IP', 'CF-Connecting-IP', 'Remote-User', 'X-Remote-User'],
    ...['X-Forwarded-Client-Cert', 'X-Amzn-Oidc-Data', 'X-Goog-IAP-JWT-Assertion', 'X-Org-Id'],
    ...['X-Auth-Request-Email', 'X-WebAuth-Role', 'Sec-WebSocket-Key', 'X-Scheme', 'A B', ''],
  ])('rejects the header %s of a route', (name) => {
    const [problem] = problemsOf({ routes: [{ ...report, requestHeaders: ['X-Batch', name] }] });
    expect(problem).toMatch(/^ROUTES_FILE routes\.0\.requestHeaders\.1: must /);
  });

  test('reports every problem at once, without the values', () => {
    const problems = problemsOf({
      upstreams: { Bad: { url: 'ftp://secret-value' } },
      routes: [
        { ...report, method: 'get', path: 'no-slash', scope: 'two scopes', timeoutSeconds: 0 },
        { ...report, path: '/a/../b', credentials: [], typo: true },
        { ...report, path: '/a/{}/b', rateLimit: { requests: 0, windowSeconds: 1 } },
      ],
    });
    const text = problems.join('\n');
    for (const place of [
      ...['upstreams.Bad', 'routes.0.method', 'routes.0.path', 'routes.0.scope'],
      ...['routes.0.timeoutSeconds', 'routes.1.path', 'routes.1.credentials', 'typo'],
      ...['routes.2.path', 'routes.2.rateLimit.requests'],
    ]) {
      expect(text).toContain(place);
    }
    expect(text).not.toContain('secret-value');
  });

  test('rejects an undefined upstream, and two routes for the same requests', () => {
    const problemAt = (place: string) => [expect.stringContaining(`ROUTES_FILE ${place}: `)];
    const undefinedUpstream = [{ ...report, upstream: 'undefined' }];
    expect(problemsOf({ routes: undefinedUpstream })).toEqual(problemAt('routes.0.upstream'));
    const twice = ['/a/{x}', '/a/{y}'].map((path) => ({ ...report, path }));
    expect(problemsOf({ routes: twice })).toEqual(problemAt('routes.1'));
  });

  test.each(['', '{', '[]', 'null', '{"routes":{}}'])('rejects a file with %j', (content) => {
    expect(problemsOf(content)).not.toEqual([]);
  });

  test('rejects a missing file', () => {
    expect(() => loadRouting(join(directory, 'none.json'), { url: 'http://localhost:1' })).toThrow(
      ConfigurationError,
    );
  });
});

test('operators see the first 100 routes with what a caller needs, in texts of bounded length', () => {
  const upstreams = { reports: { url: 'http://localhost:9100' } };
  const strict = { roles: ['auditor', 'boss'], acr: 'urn:gatehouse:acr:2', maxAge: 300 };
  const many = Array.from({ length: 150 }, (_, index) => ({
    ...{ ...report, path: `/${'long'.repeat(100)}/${index}` },
  }));
  const routes = [{ ...report, ...strict, upstream: 'reports', credentials: ['bearer'] }, ...many];
  const described = describeRoutes(load({ upstreams, routes }).routes);
  expect(described.count).toBe(151 + deviceRoutes.length);
  expect(described.first).toHaveLength(100);
  expect(described.first[0]).toEqual({
    ...{ route: 'GET /reports', upstream: 'reports', origin: 'file' },
    requires:
      'scope: device:read; acr: urn:gatehouse:acr:2; maxAge: 300; roles: auditor, boss; credentials: bearer',
  });
  expect(described.first[99]?.route).toHaveLength(200);
  const own = describeRoutes(deviceRoutes).first.find(({ upstream }) => upstream === undefined);
  expect(own).toEqual({
    ...{ route: 'POST /api/v1/token', requires: 'credentials: signature', origin: 'default' },
  });
});
