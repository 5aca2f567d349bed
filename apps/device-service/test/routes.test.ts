import { routes } from '@gatehouse/device-api';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type BootedApp, bootApp } from './booted-app.ts';
import { camera, createDeviceClient } from './device-client.ts';

let app: BootedApp;

beforeAll(async () => {
  app = await bootApp();
  await createDeviceClient(app).create({ id: 'known', ...camera });
});

afterAll(() => app.close());

const concrete = (path: string) =>
  path
    .replace('{deviceId}', 'known')
    .replace('{productId}', 'cameras')
    .replace('{tagId}', 'known:k');

describe('the route table', () => {
  test('has every method and path once', () => {
    const names = routes.map(({ method, path }) => `${method} ${path}`);
    expect(new Set(names).size).toBe(names.length);
  });

  test.each(routes.map(({ method, path, operation }) => [method, path, operation.scope] as const))(
    '%s %s requires %s',
    async (method, path, scope) => {
      const scopes = ['device:read', 'device:write', 'device:log', 'device:report'];
      const call = async (granted: string) =>
        fetch(`${app.url}${concrete(path)}`, {
          method,
          headers: {
            authorization: `Bearer ${await app.gateway.token({ scope: granted })}`,
            'content-type': 'application/json',
          },
          ...(method === 'GET' ? {} : { body: '[[[' }),
        });

      const refused = await call(scopes.filter((other) => other !== scope).join(' '));
      const allowed = await call(scope);

      expect(refused.status).toBe(403);
      expect(refused.headers.get('www-authenticate')).toContain(`scope="${scope}"`);
      expect([200, 400, 404]).toContain(allowed.status);
      const isThere = allowed.status !== 404 || path.includes('{tagId}') || method === 'DELETE';
      expect(isThere).toBe(true);
      // Undoes a successful DELETE or deployment for the next route.
      await createDeviceClient(app).create({ id: 'known', ...camera });
      await createDeviceClient(app).call('POST', '/device/instance/known/_unDeploy');
    },
  );

  test('serves /api/v1/device/_query as a query, never as the device _query', async () => {
    const client = createDeviceClient(app);
    await client.create({ id: 'known', ...camera });
    const path = '/api/v1/device/_query';

    const all = await client.call('POST', '/device/instance/_query', {});
    for (const query of [
      await client.call('POST', path, { where: 'id = known' }),
      await client.call('GET', `${path}?where=id%20%3D%20known`),
    ]) {
      expect(query.body.result).toMatchObject({ total: 1, data: [{ id: 'known' }] });
    }
    expect((await client.call('POST', path, {})).body).toMatchObject({ result: all.body.result });
    for (const method of ['DELETE', 'PATCH', 'PUT']) {
      const reply = await client.call(method, path, method === 'DELETE' ? undefined : {});
      expect([reply.status, reply.headers.allow]).toEqual([405, 'POST, GET, HEAD']);
    }
  });

  test.each([
    '/device/instance/_query',
    '/device-instance/_query',
    '/api/v1/device/_query',
    '/device/product/_query',
    '/api/v1/device/known/log/_query',
    '/device/instance/_count',
  ])('serves POST %s without a body as {}', async (path) => {
    const token = await app.gateway.token({ scope: 'device:read device:log' });
    const call = async (init: RequestInit) => {
      const headers = { authorization: `Bearer ${token}`, ...init.headers };
      const reply = await fetch(app.url + path, { ...init, method: 'POST', headers });
      return [reply.status, ((await reply.json()) as { result?: unknown }).result];
    };
    const json = { 'content-type': 'application/json' };
    const expected = await call({ headers: json, body: '{}' });
    expect(expected[0]).toBe(200);
    expect(await call({})).toEqual(expected);
    expect(await call({ headers: json })).toEqual(expected);
    expect((await call({ body: '{}' }))[0]).toBe(415);
    expect((await call({ headers: json, body: ' ' }))[0]).toBe(400);
  });

  test.each(routes.map(({ path }) => path))('answers PUT %s with 405 and Allow', async (path) => {
    const headers = {
      authorization: `Bearer ${await app.gateway.token({ scope: 'device:read' })}`,
    };
    const reply = await fetch(app.url + concrete(path), { method: 'PUT', headers });
    expect([reply.status, reply.headers.get('allow')]).toEqual([
      405,
      expect.stringMatching(/[A-Z]/),
    ]);
  });

  test('answers 404 for a product id that the database would reject', async () => {
    const client = createDeviceClient(app);

    expect((await client.call('GET', '/device/product/a%00b')).status).toBe(404);
    expect((await client.call('PATCH', '/device/product/a%00b', { name: 'x' })).status).toBe(404);
  });
});
