import { beforeAll, describe, expect, test } from '@jest/globals';
import type { BootedApp } from '../booted-app.ts';
import { camera, createDeviceClient, type DeviceClient } from '../device-client.ts';

export function tagContract(appOf: () => BootedApp): void {
  let client: DeviceClient;

  beforeAll(() => {
    client = createDeviceClient(appOf());
  });

  const org = 'org-tag';
  const set = (id: string, body: unknown) =>
    client.call('PATCH', `/device/instance/${id}/tag`, body, { org });
  const list = (id: string) =>
    client.call('GET', `/device/instance/${id}/tags`, undefined, { org });
  const remove = (id: string, tag: string) =>
    client.call('DELETE', `/device/instance/${id}/tag/${encodeURIComponent(tag)}`, undefined, {
      org,
    });

  describe('tags', () => {
    test('can be set, replaced by key, listed, read in the detail, and removed', async () => {
      await client.create({ id: 'tagged', ...camera }, org);

      const first = await set('tagged', { key: 'room', value: 'kitchen' });
      const second = await set('tagged', [
        { key: 'room', value: 'cellar', name: 'Room', type: 'enum', description: 'where it is' },
        { key: 'floor', value: '' },
      ]);

      expect(first.body.result).toEqual([
        {
          id: 'tagged:room',
          deviceId: 'tagged',
          key: 'room',
          name: 'room',
          value: 'kitchen',
          type: 'string',
          createTime: expect.any(Number),
        },
      ]);
      expect(second.body.result).toMatchObject([
        { key: 'floor', value: '' },
        {
          key: 'room',
          value: 'cellar',
          name: 'Room',
          type: 'enum',
          description: 'where it is',
          createTime: first.body.result[0].createTime,
        },
      ]);
      expect((await list('tagged')).body.result).toEqual(second.body.result);
      expect((await client.detail('tagged', org)).body.result.tags).toEqual(second.body.result);

      expect((await remove('tagged', 'tagged:room')).status).toBe(200);
      expect((await remove('tagged', 'floor')).status).toBe(200);
      expect((await remove('tagged', 'floor')).status).toBe(404);
      expect((await list('tagged')).body.result).toEqual([]);
    });

    test('rejects an invalid tag, and more than 100 tags', async () => {
      await client.create({ id: 'crowded', ...camera }, org);
      const many = (from: number) =>
        Array.from({ length: 60 }, (_, i) => ({ key: `k${from + i}`, value: 'v' }));

      expect((await set('crowded', many(0))).status).toBe(200);
      expect((await set('crowded', many(60))).body.code).toBe('illegal_argument');
      expect((await list('crowded')).body.result).toHaveLength(60);
      const dots = ['.', '..'].map((key) => ({ key, value: '' }));
      for (const body of [
        [],
        {},
        { key: 'a b', value: '' },
        { key: 'a', value: 1 },
        null,
        ...dots,
      ]) {
        expect((await set('crowded', body)).body.code).toBe('illegal_argument');
      }
      const twice = await set('crowded', [
        { key: 'a', value: '1' },
        { key: 'a', value: '2' },
      ]);
      expect(twice.body.result).toEqual([{ property: '[1].key', message: expect.any(String) }]);
    });

    test('of a device of another organization are 404', async () => {
      await client.create({ id: 'foreign', ...camera }, 'org-tag-2');

      expect((await set('foreign', { key: 'k', value: 'v' })).status).toBe(404);
      expect((await list('foreign')).status).toBe(404);
      expect((await remove('foreign', 'k')).status).toBe(404);
    });
  });
}
