import { beforeAll, describe, expect, test } from '@jest/globals';
import type { BootedApp } from '../booted-app.ts';
import { camera, createDeviceClient } from '../device-client.ts';

const DAY = 24 * 60 * 60 * 1000;

export function logContract(app: BootedApp): void {
  const client = createDeviceClient(app, 'org-log');
  const state = async (id: string) => (await client.detail(id)).result;
  const made = async (id: string) => {
    await client.create({ id, ...camera });
    await client.call('POST', `/device/instance/${id}/_deploy`);
  };
  const contents = (records: readonly { readonly content: string }[]) =>
    records.map(({ content }) => content);

  describe('reporting', () => {
    test('stores and returns a record with both times', async () => {
      await made('reporting');
      const timestamp = Date.now() - 60_000;
      const record = { timestamp, messageId: 'm-1' };
      const content = { temperature: 21 };
      const { result } = await client.report('reporting', {
        ...{ ...record, type: 'reportProperty', content },
      });

      expect(result).toEqual({
        ...record,
        id: expect.any(String),
        deviceId: 'reporting',
        productId: 'cameras',
        type: { text: 'Report property', value: 'reportProperty' },
        createTime: expect.any(Number),
        content: '{"temperature":21}',
      });
      expect(result.createTime).toBeGreaterThan(timestamp);
      expect((await client.log('reporting')).result).toEqual([result]);
    });

    test('accepts up to 1000 records, all or none', async () => {
      await made('chatty');
      const records = Array.from({ length: 1000 }, (_, i) => ({ type: 'event', content: `${i}` }));
      expect((await client.report('chatty', records)).result).toHaveLength(1000);
      expect((await client.report('chatty', [...records, { type: 'event' }])).status).toBe(400);
      const oneWrong = await client.report('chatty', [{ type: 'event' }, { type: 'noise' }]);
      expect(oneWrong.result).toEqual([
        { property: '[1].type', message: expect.stringContaining('must be one of') },
      ]);
      const log = await client.log('chatty', '?pageSize=3');
      expect(log.headers['x-total-count']).toBe('1000');
      expect(contents(log.result)).toEqual(['999', '998', '997']);
    });

    test.each([
      [{}, 'type'],
      [{ type: 'event', timestamp: 1.5 }, 'timestamp'],
      [{ type: 'event', timestamp: '1' }, 'timestamp'],
      [{ type: 'event', timestamp: Date.now() - 30 * DAY - 60_000 }, 'timestamp'],
      [[{ type: 'event', timestamp: Date.now() + DAY }], '[0].timestamp'],
      [{ type: 'event', content: 'x'.repeat(70_000) }, 'content'],
      [{ type: 'event', content: 'a\0b' }, 'content'],
      [{ type: 'event', messageId: 'a\nb' }, 'messageId'],
      ['"text"', 'body'],
      [[], 'body'],
    ])('rejects %.60j', async (body, property) => {
      await made('strict-log');
      const { status, result } = await client.report('strict-log', body);
      expect([status, result]).toEqual([400, [{ property, message: expect.any(String) }]]);
      expect((await client.log('strict-log')).result).toEqual([]);
    });
  });

  describe('online and offline records', () => {
    test('change the state, the times and the address', async () => {
      await made('moving');
      const onlineTime = Date.now() - 2000;
      const address = '/10.1.1.1:5000';
      await client.report('moving', { type: 'online', timestamp: onlineTime, address });
      const online = { state: { value: 'online' }, onlineTime, offlineTime: 0, address };
      expect(await state('moving')).toMatchObject(online);

      const offlineTime = onlineTime + 1000;
      await client.report('moving', { type: { value: 'offline' }, timestamp: offlineTime });
      const offline = { ...online, state: { value: 'offline' }, offlineTime };
      expect(await state('moving')).toMatchObject(offline);
    });

    test('apply in the order of their timestamps, not of their arrival', async () => {
      await made('buffered');
      const now = Date.now();
      const reach = { state: { value: 'online' }, onlineTime: now - 1000 };
      await client.report('buffered', [
        { type: 'online', timestamp: now - 1000 },
        { type: 'offline', timestamp: now - 5000 },
      ]);
      expect(await state('buffered')).toMatchObject(reach);
      await client.report('buffered', { type: 'offline', timestamp: now - 4000 });
      expect(await state('buffered')).toMatchObject(reach);
    });

    test('of a fast clock do not block later records', async () => {
      await made('fast');
      await client.report('fast', { type: 'online', timestamp: Date.now() + 240_000 });
      await client.report('fast', { type: 'offline' });
      const { state: reached, onlineTime } = await state('fast');
      expect(reached.value).toBe('offline');
      expect(onlineTime).toBeLessThanOrEqual(Date.now());
    });

    test('do not change the state of a device that is not activated', async () => {
      await client.create({ id: 'sleeping', ...camera });
      await client.report('sleeping', { type: 'online' });
      expect((await state('sleeping')).state.value).toBe('notActive');
    });
  });

  describe('a log query', () => {
    beforeAll(async () => {
      await made('queried');
      const now = Date.now();
      const record = (_: unknown, i: number) => ({
        type: i % 3 === 0 ? 'event' : 'reportProperty',
        timestamp: now - i * 1000,
        content: `n${i}`,
      });
      await client.report('queried', Array.from({ length: 30 }, record));
    });

    test('returns a page with the total, newest first', async () => {
      const query = { pageIndex: 1, pageSize: 4, where: 'type = event' };
      const path = '/api/v1/device/queried/log/_query';
      const { result } = await client.call('POST', path, query);
      expect(result).toMatchObject({ pageIndex: 1, pageSize: 4, total: 10 });
      expect(contents(result.data)).toEqual(['n12', 'n15', 'n18', 'n21']);
    });

    test('has a GET form that returns an array', async () => {
      const term = 'terms[0].column=content&terms[0].termType=in&terms[0].value=n1,n2';
      const reply = await client.log('queried', `?${term}&includes=content,type`);
      const type = { text: 'Report property', value: 'reportProperty' };
      expect(reply.result).toEqual([
        { content: 'n1', type },
        { content: 'n2', type },
      ]);
      expect(reply.headers['x-total-count']).toBe('2');
    });

    test('has pages without gaps or repetition for records with the same timestamp', async () => {
      await made('burst');
      const timestamp = Date.now() - 1000;
      await client.report('burst', Array(25).fill({ type: 'event', timestamp }));
      const pages = await Promise.all(
        [0, 1, 2].map((i) => client.log('burst', `?pageIndex=${i}&pageSize=10`)),
      );
      const ids = pages.flatMap(({ result }) => result.map(({ id }: { id: string }) => id));
      expect(new Set(ids).size).toBe(25);
    });
  });
}
