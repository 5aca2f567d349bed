import { describe, expect, test } from '@jest/globals';
import type { BootedApp } from '../booted-app.ts';
import { camera, createDeviceClient } from '../device-client.ts';

const problem = (property: string, message: unknown = expect.any(String)) => ({
  property,
  message,
});

export function batchContract(app: BootedApp): void {
  describe('a list of ids', () => {
    const client = createDeviceClient(app, 'org-ids');
    const path = '/api/v1/device';
    const post = (action: string, body: unknown) => client.call('POST', `${path}/${action}`, body);

    test('is deployed and deleted, and the reply reports each device', async () => {
      for (const id of ['a', 'b']) {
        await client.create({ id, ...camera });
      }
      await client.create({ id: 'c', ...camera }, 'org-ids-other');
      const deployed = await post('_deploy', ['a', 'none', 'c', 'a b']);
      const missing = { status: 404, code: 'not_found' };
      expect(deployed.result).toEqual({
        total: 4,
        succeeded: 1,
        failed: 3,
        items: [
          { index: 0, id: 'a', status: 200, code: 'success' },
          ...['none', 'c', 'a b'].map((id, i) => ({ index: i + 1, id, ...missing })),
        ],
      });
      expect((await client.detail('a')).result.state.value).toBe('offline');
      const { result } = await post('_delete', ['a', 'b', 'b', 'c']);
      expect(result).toMatchObject({ total: 4, succeeded: 1, failed: 3 });
      const problems = [problem('state')];
      expect(result.items[0]).toMatchObject({ status: 400, code: 'illegal_argument', problems });
      expect((await client.detail('b')).status).toBe(404);
      expect((await client.detail('c', 'org-ids-other')).result.state.value).toBe('notActive');
    });

    test('can be in several batches at once, in any order', async () => {
      const many = createDeviceClient(app, 'org-ids-race');
      const ids = Array.from({ length: 400 }, (_, index) => `race-${index}`);
      await many.createAll(ids.map((id) => ({ ...camera, id })));
      for (const action of ['_deploy', '_deploy', '_delete']) {
        const orders = [ids, ids.toReversed(), ids, ids.toReversed(), ids, ids.toReversed()];
        const replies = await Promise.all(
          orders.map((order) => many.call('POST', `${path}/${action}`, order)),
        );
        expect(replies.map(({ status }) => status)).toEqual(orders.map(() => 200));
        const succeeded = action === '_deploy' ? ids.length : 0;
        expect(replies.map(({ result }) => result.succeeded)).toEqual(orders.map(() => succeeded));
      }
      expect((await many.call('GET', '/device/instance/_count')).result).toBe(ids.length);
    });

    test('never reaches a device by its path', async () => {
      for (const action of ['_deploy', '_delete']) {
        for (const method of ['GET', 'DELETE', 'PATCH']) {
          const body = method === 'PATCH' ? { name: 'changed' } : undefined;
          const reply = await client.call(method, `${path}/${action}`, body);
          expect([reply.status, reply.headers.allow]).toEqual([405, 'POST']);
        }
      }
    });

    test.each([[[]], [{}], ['a'], [[1]], [[['a']]], [Array(1001).fill('a')]])(
      'is rejected if it is %.40j',
      async (body) => {
        for (const action of ['_deploy', '_delete']) {
          const reply = await post(action, body);
          expect([reply.status, reply.body.code]).toEqual([400, 'illegal_argument']);
        }
      },
    );
  });

  describe('a batch', () => {
    const countOf = async (org: string) =>
      (await client.list('?pageSize=1', org)).headers['x-total-count'];
    const client = createDeviceClient(app);

    test('of 10,000 devices is created at once', async () => {
      const device = (_: unknown, i: number) => ({
        id: `b-${i}`,
        name: `Device ${i}`,
        productId: `product-${i % 10}`,
        productName: `Product ${i % 10}`,
      });
      const devices = Array.from({ length: 10_000 }, device);
      const { result } = await client.createAll(devices, 'org-batch');
      expect(result).toMatchObject({ total: 10_000, created: 10_000, failed: 0 });
      const last = { index: 9_999, id: 'b-9999', status: 200, code: 'success' };
      expect([result.items.length, result.items[9_999]]).toEqual([10_000, last]);
      expect(await countOf('org-batch')).toBe('10000');
    });

    test('reports the result of each device, and creates the valid ones', async () => {
      const mixed = createDeviceClient(app, 'org-batch-mixed');
      await mixed.create({ id: 'there', ...camera });
      const success = { status: 200, code: 'success' };
      const duplicate = { status: 400, code: 'duplicate_key' };
      const rejected = (...problems: object[]) => ({
        ...{ status: 400, code: 'illegal_argument', problems },
      });
      const cases: readonly (readonly [device: unknown, item: object])[] = [
        [
          { id: 'there', ...camera },
          { id: 'there', ...duplicate },
        ],
        [
          { id: 'good', ...camera },
          { id: 'good', ...success },
        ],
        [
          { id: 'good', ...camera },
          { id: 'good', ...duplicate },
        ],
        [
          { id: 'a b', name: '' },
          rejected(problem('id'), problem('name'), problem('productId', 'is required')),
        ],
        [
          { id: 'orphan', name: 'O', productId: 'unheard-of' },
          { id: 'orphan', ...rejected(problem('productName')) },
        ],
        [
          { name: 'Generated', productId: 'cameras' },
          { id: expect.any(String), ...success },
        ],
        [
          { id: 'there', name: 'N', productId: 'never-made', productName: 'N' },
          { id: 'there', ...duplicate },
        ],
        ['text', rejected(problem('body', 'must be a JSON object'))],
      ];
      const { result } = await mixed.createAll(cases.map(([device]) => device));
      expect(result).toMatchObject({ total: 8, created: 2, failed: 6 });
      expect(result.items).toEqual(cases.map(([, item], index) => ({ index, ...item })));
      const products = await mixed.call('POST', '/device/product/_query', {});
      expect(products.result.data).toMatchObject([{ id: 'cameras' }]);
    });

    test.each([
      ['the parameter', '?allOrNothing=true', (devices: unknown) => devices],
      ['the body', '', (devices: unknown) => ({ allOrNothing: true, devices })],
    ])('is all or nothing with %s', async (_what, query, wrap) => {
      const org = `org-atomic${query.length}`;
      const createAll = (devices: object[]) => client.createAll(wrap(devices), org, query);
      await client.create({ id: 'there', ...camera }, org);
      const good = { id: 'fine', name: 'F', productId: 'new', productName: 'New' };

      expect((await createAll([good, { id: 'there', ...camera }])).body).toMatchObject({
        code: 'duplicate_key',
        result: [{ property: '[1].id', message: 'already exists' }],
      });
      expect((await createAll([good, { id: 'x' }])).body).toMatchObject({
        code: 'illegal_argument',
        result: [problem('[1].name'), problem('[1].productId')],
      });
      expect((await client.detail('fine', org)).status).toBe(404);
      const product = await client.call('GET', '/device/product/new', undefined, { org });
      expect(product.status).toBe(404);
      expect((await createAll([good])).result.created).toBe(1);
    });

    test('creates one device per id, although concurrent batches share ids', async () => {
      const org = 'org-batch-race';
      const ids = Array.from({ length: 300 }, (_, i) => `r-${i}`);
      const shuffled = (seed: number) =>
        [...ids].sort((a, b) => ((a.length * seed + a.charCodeAt(2)) % 7) - (b.charCodeAt(2) % 7));
      const batch = (seed: number) =>
        shuffled(seed).map((id, i) => ({
          ...{ id, name: `of ${seed}`, productId: `p${(i * seed) % 5}`, productName: 'P' },
        }));
      const replies = await Promise.all(
        [1, 2, 3, 4, 5, 6].map((seed) => client.createAll(batch(seed), org)),
      );
      expect(replies.map(({ status }) => status)).toEqual(Array(6).fill(200));
      expect(replies.reduce((sum, { result }) => sum + result.created, 0)).toBe(300);
      expect(await countOf(org)).toBe('300');
    });

    test.each([
      ['[]', 'body'],
      ['{}', 'devices'],
      ['{"devices":[]}', 'devices'],
      ['{"devices":[{}],"allOrNothing":"maybe"}', 'allOrNothing'],
      [JSON.stringify(Array(10_001).fill({})), 'body'],
    ])('%.40s is rejected', async (body, property) => {
      const { status, result } = await client.createAll(body);
      expect([status, result]).toEqual([400, [problem(property)]]);
    });
  });
}
