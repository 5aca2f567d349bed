import { beforeAll, describe, expect, test } from '@jest/globals';
import type { BootedApp } from '../booted-app.ts';
import { camera, createDeviceClient, type DeviceClient } from '../device-client.ts';

export function listDevicesContract(appOf: () => BootedApp): void {
  let client: DeviceClient;

  beforeAll(() => {
    client = createDeviceClient(appOf());
  });

  describe('listing devices', () => {
    const org = 'org-list';

    beforeAll(async () => {
      for (let i = 0; i < 30; i += 1) {
        await client.create({ id: `d-${String(i).padStart(2, '0')}`, ...camera }, org);
      }
    });

    test('returns the newest first, 25 by default, with the count in X-Total-Count', async () => {
      const reply = await client.list('', org);

      expect(reply.body).toMatchObject({ status: 200, code: 'success' });
      expect(reply.body.result).toHaveLength(25);
      expect(reply.headers['x-total-count']).toBe('30');
      const order = reply.body.result.map((item) => [-item.createTime, item.id] as const);
      expect(order).toEqual(
        [...order].sort(([a, x], [b, y]) => a - b || (String(x) < String(y) ? -1 : 1)),
      );
      const [item] = reply.body.result;
      expect(item).toMatchObject({ orgId: org, state: { value: 'notActive' } });
      expect(item?.registerTime).toBe(item?.createTime);
      expect(item?.registryTime).toBe(item?.createTime);
    });

    test('has pages without gaps or repetition', async () => {
      const pages = await Promise.all(
        [0, 1, 2, 3].map((i) => client.list(`?pageIndex=${i}&pageSize=8`, org)),
      );
      const ids = pages.flatMap(({ body }) => body.result.map(({ id }) => id));

      expect(pages.map(({ body }) => body.result.length)).toEqual([8, 8, 8, 6]);
      expect(new Set(ids).size).toBe(30);
    });

    test('returns an empty page past the end, and limits the page size to 1000', async () => {
      const past = await client.list(`?pageIndex=${Number.MAX_SAFE_INTEGER}&pageSize=1000`, org);
      const clamped = await client.list('?pageSize=1000000000', org);

      expect(past.body.result).toEqual([]);
      expect(past.headers['x-total-count']).toBe('30');
      expect(clamped.body.result).toHaveLength(30);
    });

    test.each([
      ['pageSize=0', 'pageSize'],
      ['pageSize=-1', 'pageSize'],
      ['pageSize=1e3', 'pageSize'],
      ['pageSize=NaN', 'pageSize'],
      ['pageSize=', 'pageSize'],
      ['pageSize=1.5', 'pageSize'],
      ['pageSize=5&pageSize=5', 'pageSize'],
      ['pageIndex=9007199254740992', 'pageIndex'],
      ['pageIndex=-1', 'pageIndex'],
      ['pageIndex=%zz', 'pageIndex'],
    ])('rejects %s and names the property', async (query, property) => {
      const reply = await client.list(`?${query}`, org);

      expect(reply.status).toBe(400);
      expect(reply.body.code).toBe('illegal_argument');
      expect(reply.body.result).toEqual([{ property, message: expect.any(String) }]);
    });
  });
}
