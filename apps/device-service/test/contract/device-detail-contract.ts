import { beforeAll, describe, expect, test } from '@jest/globals';
import type { BootedApp } from '../booted-app.ts';
import { camera, createDeviceClient, type DeviceClient } from '../device-client.ts';

export function deviceDetailContract(appOf: () => BootedApp): void {
  let client: DeviceClient;

  beforeAll(() => {
    client = createDeviceClient(appOf());
  });

  describe('the device detail', () => {
    test('has every field of the specification, with the values of a device that never connected', async () => {
      const before = Date.now();
      await client.create({
        id: 'full',
        ...camera,
        configuration: { isDebug: 'true', parseType: '' },
      });

      const reply = await client.detail('full');

      expect(reply.status).toBe(200);
      expect(reply.body).toEqual({
        status: 200,
        code: 'success',
        message: 'success',
        timestamp: expect.any(Number),
        result: {
          id: 'full',
          name: 'Camera',
          protocol: '',
          transport: '',
          orgId: 'org-1',
          productId: 'cameras',
          productName: 'Cameras',
          deviceType: { text: 'Direct-connected device', value: 'device' },
          state: { text: 'Not activated', value: 'notActive' },
          address: '/',
          onlineTime: 0,
          offlineTime: 0,
          createTime: expect.any(Number),
          registerTime: expect.any(Number),
          metadata: '{"events":[],"properties":[],"functions":[],"tags":[]}',
          configuration: { isDebug: 'true', parseType: '' },
          tags: [],
        },
      });
      expect(reply.body.result.createTime).toBeGreaterThanOrEqual(before);
      expect(reply.body.result.registerTime).toBe(reply.body.result.createTime);
    });

    test('has Chinese labels of states and types if the client prefers Chinese', async () => {
      await client.create({ id: 'labelled', ...camera });

      const chinese = await client.detail('labelled', 'org-1', 'zh-CN,zh;q=0.9,en;q=0.8');
      const english = await client.detail('labelled', 'org-1', 'en-GB,zh;q=0.5');
      const neither = await client.detail('labelled', 'org-1', 'fr');

      expect(chinese.body.result.state).toEqual({ text: '未启用', value: 'notActive' });
      expect(chinese.body.result.deviceType).toEqual({ text: '直连设备', value: 'device' });
      expect(english.body.result.state.text).toBe('Not activated');
      expect(neither.body.result.state.text).toBe('Not activated');
    });

    test('answers the same for a device of another organization and an unknown one', async () => {
      await client.create({ id: 'private', ...camera });

      const foreign = await client.detail('private', 'org-2');
      const missing = await client.detail('missing', 'org-2');

      expect(foreign.status).toBe(404);
      expect({ ...foreign.body, timestamp: 0 }).toEqual({ ...missing.body, timestamp: 0 });
      expect(missing.body.code).toBe('not_found');
      expect((await client.list('', 'org-2')).body.result).toEqual([]);
    });

    test('is 404 for ids that no device can have', async () => {
      for (const id of ['a%2Fb', '..%2f..', '%00', 'x'.repeat(65), '%F0%9F%98%80']) {
        expect((await client.detail(id)).status).toBe(404);
      }
    });
  });
}
