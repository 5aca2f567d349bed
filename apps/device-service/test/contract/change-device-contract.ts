import { beforeAll, describe, expect, test } from '@jest/globals';
import type { BootedApp } from '../booted-app.ts';
import { camera, createDeviceClient, type DeviceClient } from '../device-client.ts';

export function changeDeviceContract(appOf: () => BootedApp): void {
  let client: DeviceClient;

  beforeAll(() => {
    client = createDeviceClient(appOf());
  });

  const org = 'org-change';
  const patch = (id: string, body: unknown) =>
    client.call('PATCH', `/device/instance/${id}`, body, { org });
  const post = (path: string) => client.call('POST', path, undefined, { org });

  describe('changing a device', () => {
    test('changes the members in the body, merges the configuration, and keeps the other members', async () => {
      await client.create({ id: 'changed', ...camera, configuration: { a: '1', b: '2' } }, org);

      const reply = await patch('changed', {
        name: 'Renamed',
        configuration: { b: null, c: '3' },
        protocol: 'mqtt',
        state: 'online',
        orgId: 'org-2',
        id: 'other',
      });

      expect(reply.status).toBe(200);
      expect(reply.body.result).toMatchObject({
        id: 'changed',
        orgId: org,
        name: 'Renamed',
        configuration: { a: '1', c: '3' },
        protocol: 'mqtt',
        transport: '',
        state: { value: 'notActive' },
      });
      expect((await client.detail('changed', org)).body.result).toEqual(reply.body.result);
    });

    test('restores the value of the product with null', async () => {
      await client.create({ id: 'own', ...camera, metadata: '{"own":1}' }, org);

      const reply = await patch('own', { metadata: null });

      expect(reply.body.result.metadata).toBe(
        '{"events":[],"properties":[],"functions":[],"tags":[]}',
      );
    });

    test('loses no key if another request changes the configuration at the same time', async () => {
      await client.create({ id: 'merged', ...camera }, org);

      const keys = Array.from({ length: 20 }, (_, i) => `k${i}`);
      await Promise.all(keys.map((key) => patch('merged', { configuration: { [key]: 'x' } })));

      const { configuration } = (await client.detail('merged', org)).body.result;
      expect(Object.keys(configuration).sort()).toEqual([...keys].sort());
    });

    test.each([
      [{ name: '' }, 'name'],
      [{ name: null }, 'name'],
      [{ productId: 'other' }, 'productId'],
      [{ configuration: { a: 1 } }, 'configuration'],
      [{ metadata: 5 }, 'metadata'],
      [[], 'body'],
    ])('rejects %j', async (body, property) => {
      await client.create({ id: 'strict', ...camera }, org);

      const reply = await patch('strict', body);

      expect(reply.status).toBe(400);
      expect(reply.body.result).toEqual([{ property, message: expect.any(String) }]);
    });

    test('is 404 for an unknown device and one of another organization', async () => {
      await client.create({ id: 'theirs', ...camera }, 'org-other');

      for (const id of ['theirs', 'nobody']) {
        expect((await patch(id, { name: 'x' })).status).toBe(404);
        expect((await post(`/device/instance/${id}/_deploy`)).status).toBe(404);
        expect((await post(`/device/instance/${id}/_unDeploy`)).status).toBe(404);
        expect(
          (await client.call('DELETE', `/device/instance/${id}`, undefined, { org })).status,
        ).toBe(404);
      }
      expect((await client.detail('theirs', 'org-other')).body.result.name).toBe('Camera');
    });
  });

  describe('deploying a device', () => {
    test('changes it to offline, and back to notActive', async () => {
      await client.create({ id: 'deployed', ...camera }, org);

      const deployed = await post('/api/v1/device/deployed/_deploy');
      const again = await post('/device/instance/deployed/deploy');
      const undeployed = await post('/device-instance/deployed/_unDeploy');

      expect(deployed.body.result.state.value).toBe('offline');
      expect(again.body.result.state.value).toBe('offline');
      expect(undeployed.body.result.state.value).toBe('notActive');
    });

    test('changes it to online if a connection exists', async () => {
      await client.create({ id: 'early', ...camera }, org);
      await client.report('early', { type: 'online', address: '10.0.0.9:1883' }, org);
      const before = (await client.detail('early', org)).body.result;

      const deployed = await post('/device/instance/early/_deploy');

      expect(before).toMatchObject({ state: { value: 'notActive' }, address: '10.0.0.9:1883' });
      expect(deployed.body.result.state.value).toBe('online');
    });
  });

  describe('deleting a device', () => {
    const remove = (id: string) =>
      client.call('DELETE', `/device/instance/${id}`, undefined, { org });

    test('is possible only while it is notActive', async () => {
      await client.create({ id: 'doomed', ...camera }, org);
      await post('/device/instance/doomed/_deploy');

      const refused = await remove('doomed');
      await post('/device/instance/doomed/_unDeploy');
      const removed = await remove('doomed');

      expect(refused.status).toBe(400);
      expect(refused.body).toMatchObject({
        code: 'illegal_argument',
        result: [{ property: 'state' }],
      });
      expect(removed.status).toBe(200);
      expect(removed.body).toEqual({
        status: 200,
        code: 'success',
        message: 'success',
        timestamp: expect.any(Number),
      });
      expect((await client.detail('doomed', org)).status).toBe(404);
      expect((await remove('doomed')).status).toBe(404);
    });

    test('also removes its tags and its log, so that a later device with the id starts empty', async () => {
      await client.create({ id: 'phoenix', ...camera }, org);
      await client.call('PATCH', '/device/instance/phoenix/tag', { key: 'k', value: 'v' }, { org });
      await client.report('phoenix', { type: 'event', content: 'before' }, org);

      await remove('phoenix');
      await client.create({ id: 'phoenix', ...camera }, org);

      expect((await client.detail('phoenix', org)).body.result.tags).toEqual([]);
      expect((await client.log('phoenix', '', org)).body.result).toEqual([]);
    });

    test('keeps the counts correct, as every change does', async () => {
      const counted = 'org-counted';
      const count = async (body: object) =>
        (await client.call('POST', '/device/instance/_count', body, { org: counted })).body.result;
      for (const id of ['a', 'b', 'c']) {
        await client.create({ id, ...camera }, counted);
      }
      await client.call('POST', '/device/instance/a/_deploy', undefined, { org: counted });
      await client.call('DELETE', '/device/instance/b', undefined, { org: counted });

      expect(await count({})).toBe(2);
      expect(await count({ where: 'state = notActive' })).toBe(1);
      expect(await count({ where: 'state = offline and productId = cameras' })).toBe(1);
      expect(await count({ where: 'productId in (cameras, nothing)' })).toBe(2);
      expect(await count({ where: 'productId = nothing' })).toBe(0);
      expect((await client.list('?pageSize=1', counted)).headers['x-total-count']).toBe('2');
    });
  });
}
