import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { createOpenApi } from '../src/routes/public-documents.ts';
import { deviceRoutes, type Route } from '../src/routes/route.ts';
import { publicUrl } from './booted-gateway.ts';
import { bootSuiteGateway, openGateway } from './suite-gateway.ts';

const origin = 'https://app.example';
const path = '/openapi.json';
const gateway = await bootSuiteGateway();
await gateway.saveClient({ clientId: 'browser-app', corsOrigins: [origin] });
const get = (headers: Record<string, string> = {}) => gateway.send(path, { headers });

/** The routes of a document, as `GET /path`. */
function routesOf(document: { readonly paths: object }): readonly string[] {
  return Object.entries(document.paths).flatMap(([place, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${place}`),
  );
}

const documents = ['GET /.well-known/oauth-protected-resource', 'GET /time', 'GET /openapi.json'];

describe('/openapi.json', () => {
  test('describes exactly the routes that the gateway serves, at its public URL', async () => {
    const { headers, json, body } = await get({
      Host: 'evil.example',
      'X-Forwarded-Host': 'evil.example',
    });
    expect(headers['content-type']).toBe('application/json');
    const served = deviceRoutes.map(({ method, path: place }) => `${method} ${place}`);
    expect([...routesOf(json)].sort()).toEqual([...served, ...documents].sort());
    expect(json.servers).toEqual([{ url: publicUrl }]);
    const { tokenUrl } = json.components.securitySchemes.accessToken.flows.clientCredentials;
    expect(tokenUrl).toBe('http://login.example:9000/token');
    expect(body.toString()).not.toMatch(/evil\.example|127\.0\.0\.1|localhost|1\.0\.0-rc/);
    expect(gateway.upstream.requests).toEqual([]);
  });

  test('is cached, and sent again only if it changed', async () => {
    const { headers } = await get();
    const cached = { 'cache-control': 'public, max-age=300', vary: 'Accept-Encoding, Origin' };
    expect(headers).toMatchObject(cached);
    const etag = String(headers.etag);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const reply = await get({ 'If-None-Match': known });
      expect([reply.status, reply.body.length]).toEqual([304, 0]);
      expect(reply.headers).toMatchObject({ ...cached, etag });
    }
    expect((await get({ 'If-None-Match': '"other"' })).status).toBe(200);
  });

  test.each([
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['GZIP;q=0.5, br;q=0', 'gzip'],
    ['br; q=0.000, gzip;q=0', undefined],
    ['deflate', undefined],
    ['', undefined],
  ])('is compressed for Accept-Encoding: %s', async (accepted, coding) => {
    const plain = await get();
    const encoded = { 'Accept-Encoding': accepted };
    const { headers, body } = await get(encoded);
    expect(headers['content-encoding']).toBe(coding);
    const decode = { br: brotliDecompressSync, gzip: gunzipSync }[coding ?? ''];
    expect((decode?.(body) ?? body).equals(plain.body)).toBe(true);
    expect(body.length).toBeLessThan(coding === undefined ? 150_000 : 15_000);
    // A cache must not take one form for another.
    expect(headers.etag === plain.headers.etag).toBe(coding === undefined);
    const known = { ...encoded, 'If-None-Match': String(headers.etag) };
    expect((await get(known)).status).toBe(304);
  });

  test('answers HEAD without the document, and other methods with 405', async () => {
    const head = await gateway.send(path, { method: 'HEAD' });
    expect([head.status, head.body.length]).toEqual([200, 0]);
    expect(head.headers).toHaveProperty('etag');
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const reply = await gateway.send(path, { method });
      expect([reply.status, reply.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
    }
  });

  test('can be read by pages of a registered origin only', async () => {
    const allowed = async (from: string) =>
      (await get({ Origin: from })).headers['access-control-allow-origin'];
    expect(await allowed(origin)).toBe(origin);
    expect(await allowed('https://evil.example')).toBeUndefined();
  });
});

describe('The OpenAPI document', () => {
  test('has a distinct id for each route, even without case and separators', async () => {
    const { paths } = (await get()).json;
    const described: readonly { readonly operationId: string; readonly deprecated?: true }[] =
      Object.values(paths as object).flatMap((methods) => Object.values(methods));
    const names = described.map(({ operationId }) => operationId.replaceAll(/\W/g, ''));
    expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(described.length);
    const plain = described.filter(({ deprecated }) => deprecated !== true);
    const operations = new Set(deviceRoutes.map(({ operation }) => operation));
    expect(plain.map(({ operationId }) => operationId).sort()).toEqual(
      [...operations, 'openapi', 'protected-resource', 'time'].sort(),
    );
  });

  test('has request bodies and successful replies in place, for generators of clients', async () => {
    const { paths } = (await get()).json;
    // biome-ignore lint/suspicious/noExplicitAny: operations of the document
    const described: readonly any[] = Object.values(paths as object).flatMap(Object.values);
    const json = { content: { 'application/json': { schema: expect.any(Object) } } };
    const bodies = described.flatMap(({ requestBody }) => requestBody ?? []);
    expect(bodies.length).toBeGreaterThan(10);
    for (const part of [...bodies, ...described.map(({ responses }) => responses[200])]) {
      expect(part).toMatchObject(json);
    }
  });

  test('gives 64 bits to every integer in epoch milliseconds', async () => {
    const found: unknown[] = [];
    JSON.parse((await get()).body.toString(), (_key, value) => {
      if (/epoch milliseconds/i.test(value?.description) && value.type !== undefined) {
        found.push(value);
      }
      return value;
    });
    const integers = found.filter((schema) =>
      [Reflect.get(schema as object, 'type')].flat().includes('integer'),
    );
    expect(integers.length).toBeGreaterThan(5);
    for (const schema of integers) {
      expect(schema).toMatchObject({ format: 'int64' });
    }
  });

  test('is created again after a failure', async () => {
    let isBroken = true;
    const settings = {
      get publicUrl() {
        if (isBroken) {
          throw new Error('broken');
        }
        return publicUrl;
      },
      authorizationServerUrl: publicUrl,
      routes: deviceRoutes,
    };
    const document = createOpenApi(settings, []);
    await expect(document.read({ headers: {} }, '')).rejects.toThrow('broken');
    isBroken = false;
    expect(await document.read({ headers: {} }, '')).toMatchObject({ status: 200 });
  });
});

describe('/openapi.json with a ROUTES_FILE', () => {
  const [list] = deviceRoutes.filter(({ operation }) => operation === 'device.list');
  const detail = deviceRoutes.find(({ operation }) => operation === 'device.detail');
  const own = { ...list, operation: 'secret.read', path: '/secret/{id}', upstream: 'internal' };

  const described = async (routes: readonly object[]) =>
    (await openGateway({ routes: routes as readonly Route[] })).send(path);

  test('does not disclose the routes of other services', async () => {
    const { json, body } = await described([own, ...deviceRoutes]);
    expect(routesOf(json)).toHaveLength(deviceRoutes.length + documents.length);
    expect(body.toString()).not.toMatch(/secret|internal\b/);
  });

  test('describes only the built-in routes that are served by the device service', async () => {
    const replaced = { ...detail, upstream: 'internal' };
    const { json } = await described([list ?? {}, replaced]);
    expect(routesOf(json)).toEqual(['GET /api/device', ...documents]);
  });

  test('has the scope and the credentials of a route that replaces a built-in one', async () => {
    const changed = { ...list, scope: 'device:log', credentials: ['bearer'] };
    const { json } = await described([changed]);
    expect(json.paths['/api/device'].get).toMatchObject({
      operationId: 'device.list',
      security: [{ accessToken: ['device:log'] }],
    });
  });

  test('is replaced by a route with its path', async () => {
    const { status, json } = await described([{ ...list, path }]);
    expect([status, json.code]).toEqual([401, 'unauthorized']);
  });
});
