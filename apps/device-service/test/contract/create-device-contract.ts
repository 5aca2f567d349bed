import { routes } from '@gatehouse/device-api';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { BootedApp } from '../booted-app.ts';
import { camera, createDeviceClient, type DeviceClient } from '../device-client.ts';

/** The words that some path has where another path has the parameter. */
function wordsAt(parameter: string): readonly string[] {
  const all = routes.map(({ path }) => path.split('/'));
  const words = all.flatMap((path) => {
    const index = path.indexOf(parameter);
    const before = path.slice(0, index).join('/');
    return index < 0
      ? []
      : all.flatMap((other) => (other.slice(0, index).join('/') === before ? other[index] : []));
  });
  return [...new Set(words)].filter((word) => word !== undefined && word !== parameter) as string[];
}

export function createDeviceContract(appOf: () => BootedApp): void {
  let client: DeviceClient;

  beforeAll(() => {
    client = createDeviceClient(appOf());
  });

  describe('creating a device', () => {
    test('returns the stored device, and creates the product with its first device', async () => {
      const reply = await client.create({ id: 'created', ...camera }, 'org-create');

      expect(reply.status).toBe(200);
      expect(reply.body).toMatchObject({ status: 200, code: 'success' });
      expect(reply.body.result).toEqual((await client.detail('created', 'org-create')).body.result);
      const second = await client.create(
        { id: 'created-2', name: 'B', productId: 'cameras' },
        'org-create',
      );
      expect(second.body.result.productName).toBe('Cameras');
    });

    test('generates an id if the body has none', async () => {
      const reply = await client.create({ ...camera, id: null });

      expect(reply.body.result.id).toMatch(/^[0-9A-Za-z_-]{1,64}$/);
      expect((await client.detail(reply.body.result.id)).status).toBe(200);
    });

    test('lets two organizations use the same id, each for its own device', async () => {
      await client.create({ id: 'shared', ...camera, name: 'One' }, 'org-a');
      const second = await client.create({ id: 'shared', ...camera, name: 'Two' }, 'org-b');

      expect(second.status).toBe(200);
      expect((await client.detail('shared', 'org-a')).body.result.name).toBe('One');
      expect((await client.detail('shared', 'org-b')).body.result.name).toBe('Two');
    });

    test('rejects an existing id with duplicate_key and changes nothing', async () => {
      await client.create({ id: 'twice', ...camera });

      const again = await client.create({
        id: 'twice',
        name: 'Other',
        productId: 'never-made',
        productName: 'P',
      });

      expect(again.status).toBe(400);
      expect(again.body).toMatchObject({ status: 400, code: 'duplicate_key' });
      expect((await client.detail('twice')).body.result.name).toBe('Camera');
      const productless = await client.create({
        id: 'other',
        name: 'Other',
        productId: 'never-made',
      });
      expect(productless.body.result).toEqual([
        { property: 'productName', message: 'is required for a product that does not exist yet' },
      ]);
    });

    test('lets exactly one of 50 concurrent creates of one id succeed', async () => {
      const replies = await Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          client.create({ id: 'contended', ...camera, name: `D${i}` }),
        ),
      );

      expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(replies.filter(({ body }) => body.code === 'duplicate_key')).toHaveLength(49);
      const winner = replies.find(({ status }) => status === 200);
      expect((await client.detail('contended')).body.result.name).toBe(winner?.body.result.name);
    });

    test('ignores members that only the server sets', async () => {
      const reply = await client.create({
        id: 'modest',
        ...camera,
        orgId: 'org-2',
        state: 'online',
        createTime: 1,
        onlineTime: 1,
        registerTime: 1,
        address: '/10.0.0.1',
        metadata: 'x',
        somethingElse: [],
      });

      expect(reply.body.result).toMatchObject({ orgId: 'org-1', state: { value: 'notActive' } });
      expect(reply.body.result).toMatchObject({ onlineTime: 0, address: '/' });
      expect(reply.body.result.createTime).toBeGreaterThan(1);
      expect(reply.body.result.registerTime).toBeGreaterThan(1);
      expect(reply.body.result).not.toHaveProperty('somethingElse');
    });

    test.each([
      ...wordsAt('{deviceId}').map((id) => ['id', id] as const),
      ...['_query', '_deploy', '.', '..', ''].map((id) => ['id', id] as const),
      ...wordsAt('{productId}').map((productId) => ['productId', productId] as const),
      ...['_query', '.', '..', '..;a', '.;'].map((id) => ['productId', id] as const),
    ])('rejects the %s %j, which no path could address', async (property, value) => {
      const device = { id: 'addressable', ...camera, [property]: value };
      const single = await client.create(device, 'org-words');
      const batch = await client.createAll([device], 'org-words');

      const problems = [{ property, message: expect.stringMatching(/^must /) }];
      expect(single.body).toMatchObject({ code: 'illegal_argument', result: problems });
      expect(batch.body.result.items).toMatchObject([{ status: 400, problems }]);
      expect((await client.query({}, 'org-words')).body.result.total).toBe(0);
    });

    test('reports every invalid member', async () => {
      const reply = await client.create({ id: 'a b', name: ' ', productId: 7 });

      expect(reply.status).toBe(400);
      expect(reply.body.code).toBe('illegal_argument');
      expect(reply.body.result).toEqual([
        { property: 'id', message: expect.any(String) },
        { property: 'name', message: expect.any(String) },
        { property: 'productId', message: expect.any(String) },
      ]);
    });
  });
}
