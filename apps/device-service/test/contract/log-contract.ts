import { beforeAll, describe, expect, test } from '@jest/globals';
import type { BootedApp } from '../booted-app.ts';
import { camera, createDeviceClient, type DeviceClient } from '../device-client.ts';

export function logContract(appOf: () => BootedApp): void {
  let client: DeviceClient;

  beforeAll(() => {
    client = createDeviceClient(appOf());
  });

  const org = 'org-log';
  const DAY = 24 * 60 * 60 * 1000;
  const state = async (id: string) => (await client.detail(id, org)).body.result;
  const made = async (id: string) => {
    await client.create({ id, ...camera }, org);
    await client.call('POST', `/device/instance/${id}/_deploy`, undefined, { org });
  };

  describe('reporting', () => {
    test('stores and returns a record with both times', async () => {
      await made('reporting');
      const timestamp = Date.now() - 60_000;

      const reply = await client.report(
        'reporting',
        { type: 'reportProperty', timestamp, content: { temperature: 21 }, messageId: 'm-1' },
        org,
      );

      expect(reply.status).toBe(200);
      expect(reply.body.result).toEqual({
        id: expect.any(String),
        deviceId: 'reporting',
        productId: 'cameras',
        type: { text: 'Report property', value: 'reportProperty' },
        createTime: expect.any(Number),
        timestamp,
        content: '{"temperature":21}',
        messageId: 'm-1',
      });
      expect(reply.body.result.createTime).toBeGreaterThan(timestamp);
      expect((await client.log('reporting', '', org)).body.result).toEqual([reply.body.result]);
    });

    test('accepts up to 1000 records, all or none', async () => {
      await made('chatty');
      const records = Array.from({ length: 1000 }, (_, i) => ({ type: 'event', content: `${i}` }));

      const reply = await client.report('chatty', records, org);
      const tooMany = await client.report('chatty', [...records, { type: 'event' }], org);
      const oneWrong = await client.report('chatty', [{ type: 'event' }, { type: 'noise' }], org);

      expect(reply.body.result).toHaveLength(1000);
      expect(tooMany.status).toBe(400);
      expect(oneWrong.body.result).toEqual([
        { property: '[1].type', message: expect.stringContaining('must be one of') },
      ]);
      const log = await client.log('chatty', '?pageSize=3', org);
      expect(log.headers['x-total-count']).toBe('1000');
      expect(log.body.result.map(({ content }: { content: string }) => content)).toEqual([
        '999',
        '998',
        '997',
      ]);
    });

    test.each([
      ['older than 30 days', -30 * DAY - 60_000],
      ['more than 5 minutes ahead', 6 * 60_000],
    ])('rejects a timestamp %s', async (_what, offset) => {
      await made('withoutTime');
      const reply = await client.report(
        'withoutTime',
        [{ type: 'event', timestamp: Date.now() + offset }],
        org,
      );

      expect(reply.status).toBe(400);
      expect(reply.body.result).toEqual([
        { property: '[0].timestamp', message: expect.any(String) },
      ]);
      expect((await client.log('withoutTime', '', org)).body.result).toEqual([]);
    });

    test.each([
      [{}, 'type'],
      [{ type: 'event', timestamp: 1.5 }, 'timestamp'],
      [{ type: 'event', timestamp: '1' }, 'timestamp'],
      [{ type: 'event', content: 'x'.repeat(70_000) }, 'content'],
      [{ type: 'event', content: 'a\0b' }, 'content'],
      [{ type: 'event', messageId: 'a\nb' }, 'messageId'],
      ['"text"', 'body'],
      [[], 'body'],
    ])('rejects %j', async (body, property) => {
      await made('strict-log');
      const reply = await client.report('strict-log', body, org);

      expect(reply.status).toBe(400);
      expect(reply.body.result).toEqual([{ property, message: expect.any(String) }]);
    });

    test('is 404 for an unknown device and one of another organization', async () => {
      await client.create({ id: 'theirs', ...camera }, 'org-log-2');

      for (const id of ['theirs', 'nobody']) {
        expect((await client.report(id, { type: 'event' }, org)).status).toBe(404);
        expect((await client.log(id, '', org)).status).toBe(404);
      }
    });
  });

  describe('online and offline records', () => {
    test('change the state, the times and the address', async () => {
      await made('moving');
      const now = Date.now();

      await client.report(
        'moving',
        { type: 'online', timestamp: now - 2000, address: '/10.1.1.1:5000' },
        org,
      );
      expect(await state('moving')).toMatchObject({
        state: { value: 'online' },
        onlineTime: now - 2000,
        offlineTime: 0,
        address: '/10.1.1.1:5000',
      });

      await client.report('moving', { type: { value: 'offline' }, timestamp: now - 1000 }, org);
      expect(await state('moving')).toMatchObject({
        state: { value: 'offline' },
        onlineTime: now - 2000,
        offlineTime: now - 1000,
        address: '/10.1.1.1:5000',
      });
    });

    test('apply in the order of their timestamps, not of their arrival', async () => {
      await made('buffered');
      const now = Date.now();

      await client.report(
        'buffered',
        [
          { type: 'online', timestamp: now - 1000 },
          { type: 'offline', timestamp: now - 5000 },
        ],
        org,
      );
      expect(await state('buffered')).toMatchObject({ state: { value: 'online' } });

      await client.report('buffered', { type: 'offline', timestamp: now - 4000 }, org);
      expect(await state('buffered')).toMatchObject({
        state: { value: 'online' },
        onlineTime: now - 1000,
      });
    });

    test('of a fast clock do not block later records', async () => {
      await made('fast');
      await client.report('fast', { type: 'online', timestamp: Date.now() + 240_000 }, org);
      await client.report('fast', { type: 'offline' }, org);

      const { state: reached, onlineTime } = await state('fast');
      expect(reached.value).toBe('offline');
      expect(onlineTime).toBeLessThanOrEqual(Date.now());
    });

    test('do not change the state of a device that is not activated', async () => {
      await client.create({ id: 'sleeping', ...camera }, org);
      await client.report('sleeping', { type: 'online' }, org);

      expect((await state('sleeping')).state.value).toBe('notActive');
    });
  });

  describe('a log query', () => {
    beforeAll(async () => {
      await made('queried');
      const now = Date.now();
      await client.report(
        'queried',
        Array.from({ length: 30 }, (_, i) => ({
          type: i % 3 === 0 ? 'event' : 'reportProperty',
          timestamp: now - i * 1000,
          content: `n${i}`,
        })),
        org,
      );
    });

    test('returns a page with the total, newest first', async () => {
      const reply = await client.call(
        'POST',
        '/api/v1/device/queried/log/_query',
        { pageIndex: 1, pageSize: 4, where: 'type = event' },
        { org },
      );

      expect(reply.body.result).toMatchObject({ pageIndex: 1, pageSize: 4, total: 10 });
      expect(reply.body.result.data.map(({ content }: { content: string }) => content)).toEqual([
        'n12',
        'n15',
        'n18',
        'n21',
      ]);
    });

    test('has a GET form that returns an array', async () => {
      const reply = await client.log(
        'queried',
        '?terms[0].column=content&terms[0].termType=in&terms[0].value=n1,n2&includes=content,type',
        org,
      );

      expect(reply.body.result).toEqual([
        { content: 'n1', type: { text: 'Report property', value: 'reportProperty' } },
        { content: 'n2', type: { text: 'Report property', value: 'reportProperty' } },
      ]);
      expect(reply.headers['x-total-count']).toBe('2');
    });

    test('has pages without gaps or repetition for records with the same timestamp', async () => {
      await made('burst');
      const timestamp = Date.now() - 1000;
      await client.report(
        'burst',
        Array.from({ length: 25 }, () => ({ type: 'event', timestamp })),
        org,
      );

      const pages = await Promise.all(
        [0, 1, 2].map((i) => client.log('burst', `?pageIndex=${i}&pageSize=10`, org)),
      );
      const ids = pages.flatMap(({ body }) => body.result.map(({ id }: { id: string }) => id));
      expect(new Set(ids).size).toBe(25);
    });
  });
}
