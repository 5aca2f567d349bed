import { beforeAll, describe, expect, test } from '@jest/globals';
import type { BootedApp } from '../booted-app.ts';
import { createDeviceClient, type DeviceClient } from '../device-client.ts';

export function productContract(appOf: () => BootedApp): void {
  let client: DeviceClient;

  beforeAll(() => {
    client = createDeviceClient(appOf());
  });

  const org = 'org-product';
  const product = (method: string, id: string, body?: unknown) =>
    client.call(method, `/device/product/${id}`, body, { org });

  describe('a product', () => {
    test('is created with its first device, and can be listed and read', async () => {
      await client.create(
        { id: 'p-1', name: 'A', productId: 'meters', productName: 'Meters' },
        org,
      );
      await client.create({ id: 'p-2', name: 'B', productId: 'gates', productName: 'Gates' }, org);

      const page = await client.call('POST', '/device/product/_query', {}, { org });
      const found = await client.call(
        'GET',
        '/device/product/_query?where=name%20like%20Met%25',
        undefined,
        { org },
      );
      const detail = await product('GET', 'meters');

      expect(page.body.result).toMatchObject({ pageIndex: 0, pageSize: 25, total: 2 });
      expect(found.body.result.data.map(({ id }: { id: string }) => id)).toEqual(['meters']);
      expect(detail.body.result).toEqual({
        id: 'meters',
        name: 'Meters',
        orgId: org,
        deviceType: { text: 'Direct-connected device', value: 'device' },
        protocol: '',
        transport: '',
        createTime: expect.any(Number),
        metadata: '{"events":[],"properties":[],"functions":[],"tags":[]}',
      });
    });

    test('supplies the members that its devices do not set', async () => {
      const model = { productId: 'pumps', productName: 'Pumps' };
      await client.create({ id: 'plain', name: 'A', ...model }, org);
      await client.create({ id: 'special', name: 'B', ...model, protocol: 'coap' }, org);

      const reply = await product('PATCH', 'pumps', {
        name: 'Great pumps',
        protocol: 'mqtt',
        transport: 'TCP',
        deviceType: { text: 'anything', value: 'gateway' },
        metadata: '{"events":[1]}',
      });

      expect(reply.status).toBe(200);
      expect((await client.detail('plain', org)).body.result).toMatchObject({
        productName: 'Great pumps',
        protocol: 'mqtt',
        transport: 'TCP',
        deviceType: { value: 'gateway' },
        metadata: '{"events":[1]}',
      });
      expect((await client.detail('special', org)).body.result).toMatchObject({
        protocol: 'coap',
        transport: 'TCP',
      });
      const byProtocol = await client.query(
        { where: 'protocol = mqtt and deviceType = gateway' },
        org,
      );
      expect(byProtocol.body.result.data.map(({ id }) => id)).toEqual(['plain']);
    });

    test('of another organization is 404 and does not change', async () => {
      await client.create(
        { id: 'x', name: 'X', productId: 'secret', productName: 'S' },
        'org-else',
      );

      expect((await product('GET', 'secret')).status).toBe(404);
      expect((await product('PATCH', 'secret', { name: 'Mine' })).status).toBe(404);
      expect((await client.detail('x', 'org-else')).body.result.productName).toBe('S');
    });

    test.each([
      [{ name: ' ' }, 'name'],
      [{ deviceType: 'car' }, 'deviceType'],
      [{ protocol: null }, 'protocol'],
    ])('rejects %j', async (body, property) => {
      const reply = await product('PATCH', 'meters', body);

      expect(reply.status).toBe(400);
      expect(reply.body.result).toEqual([{ property, message: expect.any(String) }]);
    });
  });
}
