import { describe, expect, test } from '@jest/globals';
import type { BootedApp } from '../booted-app.ts';
import { createDeviceClient } from '../device-client.ts';

export function productContract(app: BootedApp): void {
  const client = createDeviceClient(app, 'org-product');
  const product = (method: string, id: string, body?: unknown) =>
    client.call(method, `/device/product/${id}`, body);

  describe('a product', () => {
    test('is created with its first device, and can be listed and read', async () => {
      for (const [id, productName] of [
        ['meters', 'Meters'],
        ['gates', 'Gates'],
      ] as const) {
        await client.create({ id: `of-${id}`, name: 'A', productId: id, productName });
      }
      const page = await product('POST', '_query', {});
      const found = await product('GET', '_query?where=name%20like%20Met%25');

      expect(page.result).toMatchObject({ pageIndex: 0, pageSize: 25, total: 2 });
      expect(found.result.data).toMatchObject([{ id: 'meters' }]);
      expect((await product('GET', 'meters')).result).toEqual({
        id: 'meters',
        name: 'Meters',
        orgId: 'org-product',
        deviceType: { text: 'Direct-connected device', value: 'device' },
        protocol: '',
        transport: '',
        createTime: expect.any(Number),
        metadata: '{"events":[],"properties":[],"functions":[],"tags":[]}',
      });
    });

    test('supplies the members that its devices do not set', async () => {
      const model = { productId: 'pumps', productName: 'Pumps' };
      await client.create({ id: 'plain', name: 'A', ...model });
      await client.create({ id: 'special', name: 'B', ...model, protocol: 'coap' });
      const shared = { transport: 'TCP', metadata: '{"events":[1]}' };
      const deviceType = { text: 'anything', value: 'gateway' };
      const change = { name: 'Great pumps', protocol: 'mqtt', deviceType, ...shared };
      expect((await product('PATCH', 'pumps', change)).status).toBe(200);

      expect((await client.detail('plain')).result).toMatchObject({
        ...shared,
        productName: 'Great pumps',
        protocol: 'mqtt',
        deviceType: { value: 'gateway' },
      });
      const special = (await client.detail('special')).result;
      expect(special).toMatchObject({ ...shared, protocol: 'coap' });
      const found = await client.query({ where: 'protocol = mqtt and deviceType = gateway' });
      expect(found.result.data).toMatchObject([{ id: 'plain' }]);
    });

    test('of another organization is 404 and does not change', async () => {
      const model = { productId: 'secret', productName: 'S' };
      await client.create({ id: 'x', name: 'X', ...model }, 'org-else');
      expect((await product('GET', 'secret')).status).toBe(404);
      expect((await product('PATCH', 'secret', { name: 'Mine' })).status).toBe(404);
      expect((await client.detail('x', 'org-else')).result.productName).toBe('S');
    });

    test('is 404 for an id that the database would reject', async () => {
      expect((await product('GET', 'a%00b')).status).toBe(404);
      expect((await product('PATCH', 'a%00b', { name: 'x' })).status).toBe(404);
    });

    test.each([
      [{ name: ' ' }, 'name'],
      [{ deviceType: 'car' }, 'deviceType'],
      [{ protocol: null }, 'protocol'],
    ])('rejects %j', async (body, property) => {
      const { status, result } = await product('PATCH', 'meters', body);
      expect([status, result]).toEqual([400, [{ property, message: expect.any(String) }]]);
    });
  });
}
