// requires: postgresql
import { beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { createDeviceClient } from './device-client.ts';
import { bootOnEngines } from './device-suite.ts';

const DEVICES = 100_500;
const PART = 5_000;

describe.each(await bootOnEngines())('with 100,500 devices on $name', ({ app }) => {
  const client = createDeviceClient(app);

  beforeAll(async () => {
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

  test('the maintained counts are exact', async () => {
    const list = await client.list('?pageSize=1');
    const offline = await client.query({ pageSize: 1, where: 'state = offline and productId = p' });

    expect(list.headers['x-total-count']).toBe(String(DEVICES));
    expect(list.headers).not.toHaveProperty('x-total-count-exact');
    expect(offline.result).toMatchObject({ total: DEVICES - 1 });
    expect(offline.result).not.toHaveProperty('totalIsExact');
  });

  test('other counts stop at 10,000 and report it, except for _count', async () => {
    const where = 'name like Number%';
    const page = await client.query({ pageSize: 1, where });
    const array = await client.list(`?pageSize=1&where=${encodeURIComponent(where)}`);
    const count = await client.call('POST', '/device/instance/_count', { where });

    expect(page.result).toMatchObject({ total: 10_000, totalIsExact: false });
    expect(array.headers).toMatchObject({
      'x-total-count': '10000',
      'x-total-count-exact': 'false',
    });
    expect(count.result).toBe(DEVICES - 1);
  });

  test('pages cover the first 100,000 records, and a query by the last id returns the others', async () => {
    const last = await client.list('?pageIndex=100&pageSize=1000');
    const tooDeep = await client.list('?pageIndex=100001&pageSize=1');
    const beyond = await client.list('?pageIndex=101&pageSize=1000');

    expect(last.result).toHaveLength(500);
    expect(last.headers['x-total-count']).toBe(String(DEVICES));
    const code = 'illegal_argument';
    expect(tooDeep.body).toMatchObject({ code, result: [{ property: 'pageIndex' }] });
    expect(beyond.result).toEqual([]);

    let seen = 0;
    for (let where = ''; ; ) {
      const page = { orderBy: 'id', pageSize: 1000, total: 0, includes: 'id' };
      const { data } = (await client.query({ where, ...page })).result;
      seen += data.length;
      if (data.length < 1000) {
        break;
      }
      where = `id > ${data.at(-1)?.id}`;
    }
    expect(seen).toBe(DEVICES);
  });
});
