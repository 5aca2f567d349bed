import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import type { DatabaseEngine } from '../tables.ts';

/**
 * Counting a million devices takes as long as reading them. Therefore triggers maintain the number
 * by product and state in the transaction of each change. Also adds an index for each first page
 * that must be fast.
 */
export function deviceCounts(engine: DatabaseEngine): Migration {
  return {
    up: async (db) => {
      await createCounts(db, engine);
      for (const statement of engine === 'postgres' ? postgresTriggers() : sqliteTriggers()) {
        await sql.raw(statement).execute(db);
      }
      await createIndexes(db);
    },
  };
}

async function createCounts(db: Kysely<unknown>, engine: DatabaseEngine): Promise<void> {
  const text = engine === 'postgres' ? sql`text collate "C"` : sql`text`;
  // Counts change often. Free space in each page lets PostgreSQL update them in place.
  const storage = engine === 'postgres' ? sql`with (fillfactor = 20)` : sql``;
  await sql`create table device_counts (
    org_id ${text} not null,
    product_id ${text} not null,
    state ${text} not null,
    slot bigint not null,
    device_count bigint not null,
    primary key (org_id, product_id, state, slot)
  ) ${storage}`.execute(db);
  await sql`insert into device_counts (org_id, product_id, state, slot, device_count)
    select org_id, product_id, state, 0, count(*) from devices group by org_id, product_id, state
    union all
    select org_id, '', state, 0, count(*) from devices group by org_id, state`.execute(db);
}

async function createIndexes(db: Kysely<unknown>): Promise<void> {
  const filtered = [['state'], ['product_id'], ['product_id', 'state']];
  for (const columns of filtered) {
    await db.schema
      .createIndex(`devices_by_${columns.join('_and_')}`)
      .on('devices')
      .columns(['org_id', ...columns, 'create_time desc', 'id'])
      .execute();
  }
  await db.schema
    .createIndex('devices_by_name')
    .on('devices')
    .columns(['org_id', 'name', 'id desc'])
    .execute();
  await db.schema
    .createIndex('products_newest_first')
    .on('products')
    .columns(['org_id', 'create_time desc', 'id'])
    .execute();
}

/** Writers of the same row wait for each other. Eight rows per count make this rare. */
const SLOTS = 8;

/** Runs once per statement, in the order of the key, so that two statements cannot deadlock. */
function postgresTriggers(): readonly string[] {
  const added = 'select org_id, product_id, state, 1 as change from added';
  const removed = 'select org_id, product_id, state, -1 as change from removed';
  const events = [
    { event: 'insert', tables: 'new table as added', changes: added },
    { event: 'delete', tables: 'old table as removed', changes: removed },
    {
      event: 'update',
      tables: 'old table as removed new table as added',
      changes: `${added} union all ${removed}`,
    },
  ];
  return events.flatMap(({ event, tables, changes }) => [
    `create function count_devices_on_${event}() returns trigger language plpgsql as $$
    begin
      insert into device_counts as known (org_id, product_id, state, slot, device_count)
      select changed.org_id, level.product_id, changed.state,
        pg_backend_pid() % ${SLOTS}, sum(changed.change)
      from (${changes}) as changed
      cross join lateral (values (''), (changed.product_id)) as level (product_id)
      group by 1, 2, 3
      having sum(changed.change) <> 0
      order by 1, 2, 3
      on conflict (org_id, product_id, state, slot)
      do update set device_count = known.device_count + excluded.device_count;
      return null;
    end $$`,
    `create trigger count_devices_on_${event} after ${event} on devices
      referencing ${tables} for each statement execute function count_devices_on_${event}()`,
  ]);
}

function sqliteTriggers(): readonly string[] {
  const change = (row: 'new' | 'old', by: '+ 1' | '- 1') => `
    insert into device_counts (org_id, product_id, state, slot, device_count)
    select ${row}.org_id, level.column1, ${row}.state, 0, 0
    from (values (''), (${row}.product_id)) as level
    where not exists (
      select 1 from device_counts where org_id = ${row}.org_id
        and product_id = level.column1 and state = ${row}.state and slot = 0
    );
    update device_counts set device_count = device_count ${by}
    where org_id = ${row}.org_id and product_id in ('', ${row}.product_id)
      and state = ${row}.state and slot = 0;`;
  const changed = 'old.state <> new.state or old.product_id <> new.product_id';
  return [
    `create trigger count_devices_on_insert after insert on devices
      begin ${change('new', '+ 1')} end`,
    `create trigger count_devices_on_delete after delete on devices
      begin ${change('old', '- 1')} end`,
    `create trigger count_devices_on_update after update of state, product_id on devices
      when ${changed} begin ${change('old', '- 1')} ${change('new', '+ 1')} end`,
  ];
}
