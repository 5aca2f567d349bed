import { beforeAll, describe, expect, test } from '@jest/globals';
import type { BootedApp } from '../booted-app.ts';
import { camera, createDeviceClient, type DeviceClient } from '../device-client.ts';

export function batchContract(appOf: () => BootedApp): void {
  let client: DeviceClient;

  beforeAll(() => {
    client = createDeviceClient(appOf());
  });

  const device = (i: number) => ({
    id: `b-${String(i).padStart(5, '0')}`,
    name: `Device ${i}`,
    productId: `product-${i % 10}`,
    productName: `Product ${i % 10}`,
  });

  describe('a list of ids', () => {
    const org = 'org-ids';
    const path = '/api/v1/device';
    const post = (action: string, body: unknown) =>
      client.call('POST', `${path}/${action}`, body, { org });

    test('is deployed and deleted, and the reply reports each device', async () => {
      for (const id of ['a', 'b']) {
        await client.create({ id, ...camera }, org);
      }
      await client.create({ id: 'c', ...camera }, 'org-ids-other');
      const deployed = await post('_deploy', ['a', 'none', 'c', 'a b']);
      expect(deployed.body.result).toEqual({
        total: 4,
        succeeded: 1,
        failed: 3,
        items: [
          { index: 0, id: 'a', status: 200, code: 'success' },
          { index: 1, id: 'none', status: 404, code: 'not_found' },
          { index: 2, id: 'c', status: 404, code: 'not_found' },
          { index: 3, id: 'a b', status: 404, code: 'not_found' },
        ],
      });
      expect((await client.detail('a', org)).body.result.state.value).toBe('offline');
      const deleted = await post('_delete', ['a', 'b', 'b', 'c']);
      expect(deleted.body.result).toMatchObject({ total: 4, succeeded: 1, failed: 3 });
      expect(deleted.body.result.items[0]).toMatchObject({
        status: 400,
        code: 'illegal_argument',
        problems: [{ property: 'state' }],
      });
      expect((await client.detail('b', org)).status).toBe(404);
      expect((await client.detail('c', 'org-ids-other')).body.result.state.value).toBe('notActive');
    });

    test('never reaches a device by its path', async () => {
      for (const action of ['_deploy', '_delete']) {
        for (const method of ['GET', 'DELETE', 'PATCH']) {
          const body = method === 'PATCH' ? { name: 'changed' } : undefined;
          const reply = await client.call(method, `${path}/${action}`, body, { org });
          expect([reply.status, reply.headers.allow]).toEqual([405, 'POST']);
        }
      }
    });

    test.each([[[]], [{}], ['a'], [[1]], [[['a']]], [Array.from({ length: 1001 }, () => 'a')]])(
      'is rejected if it is %j',
      async (body) => {
        for (const action of ['_deploy', '_delete']) {
          const reply = await post(action, body);
          expect([reply.status, reply.body.code]).toEqual([400, 'illegal_argument']);
        }
      },
    );
  });

  describe('a batch', () => {
    test('of 10,000 devices is created at once', async () => {
      const devices = Array.from({ length: 10_000 }, (_, i) => device(i));

      const reply = await client.createAll(devices, 'org-batch');

      expect(reply.status).toBe(200);
      expect(reply.body.result).toMatchObject({ total: 10_000, created: 10_000, failed: 0 });
      expect(reply.body.result.items).toHaveLength(10_000);
      expect(reply.body.result.items[9_999]).toEqual({
        index: 9_999,
        id: 'b-09999',
        status: 200,
        code: 'success',
      });
      expect((await client.list('?pageSize=1', 'org-batch')).headers['x-total-count']).toBe(
        '10000',
      );
    });

    test('reports the result of each device, and creates the valid ones', async () => {
      const org = 'org-batch-mixed';
      await client.create({ id: 'there', ...camera }, org);

      const reply = await client.createAll(
        [
          { id: 'there', ...camera },
          { id: 'good', ...camera },
          { id: 'good', ...camera },
          { id: 'a b', name: '' },
          { id: 'orphan', name: 'O', productId: 'unheard-of' },
          { name: 'Generated', productId: 'cameras' },
          { id: 'there', name: 'N', productId: 'never-made', productName: 'N' },
          'text',
        ],
        org,
      );

      expect(reply.status).toBe(200);
      expect(reply.body.result).toMatchObject({ total: 8, created: 2, failed: 6 });
      expect(reply.body.result.items).toEqual([
        { index: 0, id: 'there', status: 400, code: 'duplicate_key' },
        { index: 1, id: 'good', status: 200, code: 'success' },
        { index: 2, id: 'good', status: 400, code: 'duplicate_key' },
        {
          index: 3,
          status: 400,
          code: 'illegal_argument',
          problems: [
            { property: 'id', message: expect.any(String) },
            { property: 'name', message: expect.any(String) },
            { property: 'productId', message: 'is required' },
          ],
        },
        {
          index: 4,
          id: 'orphan',
          status: 400,
          code: 'illegal_argument',
          problems: [{ property: 'productName', message: expect.any(String) }],
        },
        { index: 5, id: expect.any(String), status: 200, code: 'success' },
        { index: 6, id: 'there', status: 400, code: 'duplicate_key' },
        {
          index: 7,
          status: 400,
          code: 'illegal_argument',
          problems: [{ property: 'body', message: 'must be a JSON object' }],
        },
      ]);
      const products = await client.call('POST', '/device/product/_query', {}, { org });
      expect(products.body.result.data.map(({ id }: { id: string }) => id)).toEqual(['cameras']);
    });

    test.each([
      ['the parameter', '?allOrNothing=true', (devices: unknown) => devices],
      ['the body', '', (devices: unknown) => ({ allOrNothing: true, devices })],
    ])('is all or nothing with %s', async (_what, query, wrap) => {
      const org = `org-atomic${query.length}`;
      await client.create({ id: 'there', ...camera }, org);
      const good = { id: 'fine', name: 'F', productId: 'new', productName: 'New' };

      const duplicate = await client.createAll(
        wrap([good, { id: 'there', ...camera }]),
        org,
        query,
      );
      const wrong = await client.createAll(wrap([good, { id: 'x' }]), org, query);

      expect(duplicate.status).toBe(400);
      expect(duplicate.body).toMatchObject({
        code: 'duplicate_key',
        result: [{ property: '[1].id', message: 'already exists' }],
      });
      expect(wrong.body).toMatchObject({
        code: 'illegal_argument',
        result: [{ property: '[1].name' }, { property: '[1].productId' }],
      });
      expect((await client.detail('fine', org)).status).toBe(404);
      expect((await client.call('GET', '/device/product/new', undefined, { org })).status).toBe(
        404,
      );
      expect((await client.createAll(wrap([good]), org, query)).body.result.created).toBe(1);
    });

    test('creates one device per id, although concurrent batches share ids', async () => {
      const org = 'org-batch-race';
      const ids = Array.from({ length: 300 }, (_, i) => `r-${i}`);
      const shuffled = (seed: number) =>
        [...ids].sort((a, b) => ((a.length * seed + a.charCodeAt(2)) % 7) - (b.charCodeAt(2) % 7));

      const replies = await Promise.all(
        [1, 2, 3, 4, 5, 6].map((seed) =>
          client.createAll(
            shuffled(seed).map((id, i) => ({
              id,
              name: `of ${seed}`,
              productId: `p${(i * seed) % 5}`,
              productName: 'P',
            })),
            org,
          ),
        ),
      );

      expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
      const created = replies.reduce((sum, { body }) => sum + body.result.created, 0);
      expect(created).toBe(300);
      expect((await client.list('?pageSize=1', org)).headers['x-total-count']).toBe('300');
    });

    test.each([
      ['[]', 'body'],
      ['{}', 'devices'],
      ['{"devices":[]}', 'devices'],
      ['{"devices":[{}],"allOrNothing":"maybe"}', 'allOrNothing'],
      [JSON.stringify(Array.from({ length: 10_001 }, () => ({}))), 'body'],
    ])('%.40s is rejected', async (body, property) => {
      const reply = await client.createAll(body);

      expect(reply.status).toBe(400);
      expect(reply.body.result).toEqual([{ property, message: expect.any(String) }]);
    });

    test('can have up to 16 MiB', async () => {
      const body = (bytes: number) => `[{"name":"${'x'.repeat(bytes)}"}]`;

      expect((await client.createAll(body(15 * 1024 * 1024))).body.result.failed).toBe(1);
      expect((await client.createAll(body(17 * 1024 * 1024))).status).toBe(413);
    });
  });
}
