// requires: postgresql
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type BootedApp, bootApp } from './booted-app.ts';
import {
  type DatabaseEngineForTest,
  databaseEngines,
  startDatabaseEngine,
} from './database-engines.ts';
import { createDeviceClient, type DeviceClient } from './device-client.ts';

const DEVICES = 100_500;
const PART = 5_000;

describe.each(databaseEngines)('with 100,500 devices on %s', (name) => {
  let engine: DatabaseEngineForTest;
  let app: BootedApp;
  let client: DeviceClient;

  beforeAll(async () => {
    engine = await startDatabaseEngine(name);
    app = await bootApp(engine.location);
    client = createDeviceClient(app);
    await client.create({ id: 'first', name: 'First', productId: 'p', productName: 'P' });
    // In parts, because PostgreSQL cancels statements after five seconds.
    for (let from = 1; from < DEVICES; from += PART) {
      const to = Math.min(from + PART, DEVICES) - 1;
      await sql`with recursive numbers (i) as (
          select ${sql.lit(from)} union all select i + 1 from numbers where i < ${sql.lit(to)})
        insert into devices (org_id, id, product_id, name, state, address, online_time,
          offline_time, create_time, register_time, configuration)
        select 'org-1', 'n-' || i, 'p', 'Number ' || i, 'offline', '/', 0, 0, 1000 + i, 1000 + i, '{}'
        from numbers`.execute(app.database.tables);
    }
  });

  afterAll(async () => {
    await app.close();
    await engine.stop();
  });

  test('the maintained counts are exact', async () => {
    const list = await client.list('?pageSize=1');
    const offline = await client.query({ pageSize: 1, where: 'state = offline and productId = p' });

    expect(list.headers['x-total-count']).toBe(String(DEVICES));
    expect(list.headers).not.toHaveProperty('x-total-count-exact');
    expect(offline.body.result).toMatchObject({ total: DEVICES - 1 });
    expect(offline.body.result).not.toHaveProperty('totalIsExact');
  });

  test('other counts stop at 10,000 and report it, except for _count', async () => {
    const where = 'name like Number%';
    const page = await client.query({ pageSize: 1, where });
    const array = await client.list(`?pageSize=1&where=${encodeURIComponent(where)}`);
    const count = await client.call('POST', '/device/instance/_count', { where });

    expect(page.body.result).toMatchObject({ total: 10_000, totalIsExact: false });
    expect(array.headers).toMatchObject({
      'x-total-count': '10000',
      'x-total-count-exact': 'false',
    });
    expect(count.body.result).toBe(DEVICES - 1);
  });

  test('pages cover the first 100,000 records, and a query by the last id returns the others', async () => {
    const last = await client.list('?pageIndex=100&pageSize=1000');
    const tooDeep = await client.list('?pageIndex=100001&pageSize=1');
    const beyond = await client.list('?pageIndex=101&pageSize=1000');

    expect(last.body.result).toHaveLength(500);
    expect(last.headers['x-total-count']).toBe(String(DEVICES));
    expect(tooDeep.status).toBe(400);
    expect(tooDeep.body).toMatchObject({
      code: 'illegal_argument',
      result: [{ property: 'pageIndex' }],
    });
    expect(beyond.body.result).toEqual([]);

    let seen = 0;
    for (let where = ''; ; ) {
      const page = await client.query({
        where,
        orderBy: 'id',
        pageSize: 1000,
        total: 0,
        includes: 'id',
      });
      const { data } = page.body.result;
      seen += data.length;
      if (data.length < 1000) {
        break;
      }
      where = `id > ${data.at(-1)?.id}`;
    }
    expect(seen).toBe(DEVICES);
  });
});
