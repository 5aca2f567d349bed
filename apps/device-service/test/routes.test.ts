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

  test('serves /_query, even if a device has the id _query', async () => {
    const client = createDeviceClient(app);
    await client.create({ id: '_query', ...camera });

    const query = await client.call('GET', '/device/instance/_query?where=id%20%3D%20_query');
    const detail = await client.detail('_query');

    expect(query.body.result).toMatchObject({ total: 1, data: [{ id: '_query' }] });
    expect(detail.body.result.id).toBe('_query');
  });

  test('answers 404 for a product id that the database would reject', async () => {
    const client = createDeviceClient(app);

    expect((await client.call('GET', '/device/product/a%00b')).status).toBe(404);
    expect((await client.call('PATCH', '/device/product/a%00b', { name: 'x' })).status).toBe(404);
  });
});
