import { afterAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { openDatabase } from '../src/database/open-database.ts';
import { scopeToOrganization } from '../src/database/organization-database.ts';
import { inTransaction } from '../src/database/queries.ts';
import { addDevice } from '../src/devices/add.ts';
import { startDatabaseEngine } from './database-engines.ts';
import { newDevice } from './new-device.ts';

const product = (id: string, name = id) => ({
  id,
  name,
  device_type: 'device',
  protocol: '',
  transport: '',
  metadata: '{}',
  create_time: 1,
});

const engine = await startDatabaseEngine('sqlite');
const database = await openDatabase(engine.location);
afterAll(async () => {
  await database.close();
  await engine.stop();
});
const our = scopeToOrganization(database, 'ours');
const their = scopeToOrganization(database, 'theirs');
const { tables: ours } = our;
const { tables: theirs } = their;
await addDevice(our, newDevice('d', { productId: 'shared', productName: 'Ours' }));
await addDevice(their, newDevice('d', { productId: 'shared', productName: 'Theirs' }));
await ours.insertInto('products').values(product('a')).execute();
await addDevice(their, newDevice('e', { productId: 'b', productName: 'b' }));

describe('a database of one organization', () => {
  test('limits a query without a condition to its rows', async () => {
    const rows = await ours.selectFrom('products').selectAll().orderBy('id').execute();
    expect(rows.map(({ org_id, id }) => [org_id, id])).toEqual([
      ['ours', 'a'],
      ['ours', 'shared'],
    ]);
  });

  test('keeps its scope with an OR condition', async () => {
    const rows = await ours
      .selectFrom('products as p')
      .selectAll()
      .where((either) => either.or([either('p.id', '=', 'b'), sql<boolean>`1 = 1`]))
      .execute();
    expect(rows).toHaveLength(2);
  });

  test('joins only its rows, and keeps a left join', async () => {
    const inner = await ours
      .selectFrom('devices')
      .innerJoin('products as p', 'p.id', 'devices.product_id')
      .select(['devices.id', 'p.name'])
      .execute();
    const left = await ours
      .selectFrom('products')
      .leftJoin('devices', 'devices.product_id', 'products.id')
      .select(['products.id', 'devices.id as device_id'])
      .orderBy('products.id')
      .execute();

    expect(inner).toEqual([{ id: 'd', name: 'Ours' }]);
    expect(left).toEqual([
      { id: 'a', device_id: null },
      { id: 'shared', device_id: 'd' },
    ]);
  });

  test('scopes subqueries', async () => {
    const within = await ours
      .selectFrom(ours.selectFrom('devices').select('id').as('found'))
      .select('found.id')
      .execute();
    const among = await ours
      .selectFrom('products')
      .select('id')
      .where('id', 'in', (query) => query.selectFrom('devices').select('devices.product_id'))
      .execute();

    expect(within).toEqual([{ id: 'd' }]);
    expect(among).toEqual([{ id: 'shared' }]);
  });

  test('changes and deletes only its rows, also in transactions', async () => {
    await inTransaction(our, async ({ tables }) => {
      await tables.updateTable('products').set({ name: 'Changed' }).execute();
      await tables.deleteFrom('products').where('id', '=', 'b').execute();
    });

    const names = await theirs.selectFrom('products').select('name').orderBy('id').execute();
    expect(names).toEqual([{ name: 'b' }, { name: 'Theirs' }]);
  });

  test('inserts only its rows, also if a row of another organization has the same id', async () => {
    await ours
      .insertInto('products')
      .values(product('b', 'Our b'))
      .onConflict((conflict) => conflict.columns(['org_id', 'id']).doUpdateSet({ name: 'Taken' }))
      .execute();

    const their = await theirs
      .selectFrom('products')
      .select('name')
      .where('id', '=', 'b')
      .execute();
    const own = await ours.selectFrom('products').select('name').where('id', '=', 'b').execute();
    expect(their).toEqual([{ name: 'b' }]);
    expect(own).toEqual([{ name: 'Our b' }]);
  });

  test('inserts selected rows only from its rows and only as its rows', async () => {
    const idsOf = async (scoped: typeof ours) =>
      (await scoped.selectFrom('products').select('id').execute()).map(({ id }) => id).sort();
    const [own, their] = [await idsOf(ours), await idsOf(theirs)];

    const copied = await ours
      .insertInto('products')
      .columns(['id', 'name', 'device_type', 'protocol', 'transport', 'metadata', 'create_time'])
      .expression((query) =>
        query
          .selectFrom('products')
          .select(sql<string>`'copy of ' || id`.as('id'))
          .select(['name', 'device_type', 'protocol', 'transport', 'metadata', 'create_time']),
      )
      .returning('id')
      .execute();

    const copies = own.map((id) => `copy of ${id}`);
    expect(copied.map(({ id }) => id).sort()).toEqual(copies);
    expect(await idsOf(ours)).toEqual([...own, ...copies].sort());
    expect(await idsOf(theirs)).toEqual(their);
  });

  test('rejects statements that it cannot scope', async () => {
    const refusal = /cannot be scoped to an organization/;

    await expect(sql`select * from products`.execute(ours)).rejects.toThrow(refusal);
    await expect(ours.schema.dropTable('products').execute()).rejects.toThrow(refusal);
    await expect(
      ours
        .insertInto('products')
        .columns(['id', 'name'])
        .expression(sql`select id, name from products`)
        .execute(),
    ).rejects.toThrow(refusal);
    await expect(ours.insertInto('products').defaultValues().execute()).rejects.toThrow(refusal);
    await expect(
      ours.updateTable('products').from('devices').set({ name: 'x' }).execute(),
    ).rejects.toThrow(refusal);
    await expect(
      ours.selectFrom(sql<{ id: string }>`products`.as('p')).selectAll().execute(),
    ).rejects.toThrow(refusal);
  });
});
