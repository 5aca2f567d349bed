import { sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { DatabaseUnavailableError } from './database-errors.ts';
import type { DatabaseEngine, DeviceDatabase } from './tables.ts';

/** All processes of this service use this lock. */
const MIGRATION_LOCK = 0x4761_7465n;

/** Runs in the transaction that creates the tables, so a database is never filled in part. */
export type NewDatabaseCallback = (tables: DeviceDatabase) => Promise<void>;

/**
 * Migrates the tables forward in one transaction. It holds the write lock (SQLite) or an advisory
 * lock (PostgreSQL), so that only one of several starting processes migrates.
 *
 * @param target the last migration to run. Default: all.
 */
export async function migrateDatabase(
  tables: DeviceDatabase,
  engine: DatabaseEngine,
  onNewDatabase: NewDatabaseCallback,
  target?: string,
): Promise<void> {
  await tables.transaction().execute(async (transaction) => {
    if (engine === 'postgres') {
      await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`.execute(transaction);
    }
    const migrator = new Migrator({
      db: transaction,
      provider: { getMigrations: async () => migrationsFor(engine) },
    });
    const isNew = (await migrator.getMigrations()).every(({ executedAt }) => !executedAt);
    const { error } =
      target === undefined ? await migrator.migrateToLatest() : await migrator.migrateTo(target);
    if (error !== undefined) {
      throw error instanceof DatabaseUnavailableError
        ? error
        : new Error('Cannot migrate the tables to this version.', { cause: error });
    }
    if (isNew) {
      await onNewDatabase(transaction);
    }
  });
}

/** Migrations run in the order of their names. A published migration never changes. */
function migrationsFor(engine: DatabaseEngine): Record<string, Migration> {
  return {
    '0001-products-and-devices': run(productsAndDevices),
    '0002-tags-and-logs': run(tagsAndLogs(engine)),
    '0003-device-counts': run(deviceCounts(engine)),
  };
}

function run(statements: readonly string[]): Migration {
  return {
    async up(db) {
      for (const statement of statements) {
        await sql.raw(statement).execute(db);
      }
    },
  };
}

/** Every key starts with the organization, so ids are unique only within an organization. */
const productsAndDevices = [
  `create table products (
    org_id text not null,
    id text not null,
    name text not null,
    protocol text not null,
    transport text not null,
    metadata text not null,
    create_time bigint not null,
    constraint products_key primary key (org_id, id)
  )`,
  `create table devices (
    org_id text not null,
    id text not null,
    product_id text not null,
    name text not null,
    device_type text not null,
    state text not null,
    address text not null,
    online_time bigint not null,
    offline_time bigint not null,
    create_time bigint not null,
    register_time bigint not null,
    configuration text not null,
    constraint devices_key primary key (org_id, id),
    constraint devices_product foreign key (org_id, product_id) references products (org_id, id)
  )`,
  'create index devices_newest_first on devices (org_id, create_time desc, id)',
];

/**
 * PostgreSQL then compares text by byte, as SQLite does. Ids sort the same on both, and indexes
 * support LIKE 'abc%'.
 */
function textOf(engine: DatabaseEngine): string {
  return engine === 'postgres' ? 'text collate "C"' : 'text';
}

/** Adds tags, logs, and the members that a device inherits from its product. */
function tagsAndLogs(engine: DatabaseEngine): readonly string[] {
  const text = textOf(engine);
  const changed = {
    products: ['org_id', 'id', 'name', 'protocol', 'transport'],
    devices: ['org_id', 'id', 'product_id', 'name', 'state', 'address'],
  };
  const collated = Object.entries(changed).map(([table, columns]) => {
    const changes = columns.map((column) => `alter column ${column} type ${text}`);
    return `alter table ${table} ${changes.join(', ')}`;
  });
  return [
    ...(engine === 'postgres' ? collated : []),
    `alter table products add column device_type ${text} default 'device' not null`,
    'alter table devices drop column device_type',
    'alter table devices add column incarnation bigint default 0 not null',
    'alter table devices add column connected bigint default 0 not null',
    `alter table devices add column protocol ${text}`,
    `alter table devices add column transport ${text}`,
    `alter table devices add column metadata ${text}`,
    `create table device_tags (
      org_id ${text} not null,
      device_id ${text} not null,
      tag_key ${text} not null,
      name ${text} not null,
      value ${text} not null,
      type ${text} not null,
      description ${text} not null,
      create_time bigint not null,
      constraint device_tags_key primary key (org_id, device_id, tag_key),
      constraint device_tags_device foreign key (org_id, device_id)
        references devices (org_id, id) on delete cascade
    )`,
    // Without a foreign key: the log of a deleted device is unreachable and expires like other logs.
    `create table device_logs (
      org_id ${text} not null,
      device_id ${text} not null,
      incarnation bigint not null,
      timestamp bigint not null,
      id ${text} not null,
      product_id ${text} not null,
      type ${text} not null,
      create_time bigint not null,
      content ${text} not null,
      message_id ${text} not null,
      constraint device_logs_key primary key (org_id, device_id, incarnation, timestamp, id)
    )`,
    'create index device_logs_by_type on device_logs (org_id, device_id, incarnation, type, timestamp, id)',
    'create index device_logs_oldest_first on device_logs (create_time)',
  ];
}

/**
 * Counting a million devices takes as long as reading them. Therefore triggers maintain the number
 * by product and state in the transaction of each change. Also adds an index for each first page
 * that must be fast.
 */
function deviceCounts(engine: DatabaseEngine): readonly string[] {
  const text = textOf(engine);
  // Counts change often. Free space in each page lets PostgreSQL update them in place.
  const storage = engine === 'postgres' ? 'with (fillfactor = 20)' : '';
  return [
    `create table device_counts (
      org_id ${text} not null,
      product_id ${text} not null,
      state ${text} not null,
      slot bigint not null,
      device_count bigint not null,
      primary key (org_id, product_id, state, slot)
    ) ${storage}`,
    `insert into device_counts (org_id, product_id, state, slot, device_count)
      select org_id, product_id, state, 0, count(*) from devices group by org_id, product_id, state
      union all
      select org_id, '', state, 0, count(*) from devices group by org_id, state`,
    ...(engine === 'postgres' ? postgresTriggers() : sqliteTriggers()),
    'create index devices_by_state on devices (org_id, state, create_time desc, id)',
    'create index devices_by_product_id on devices (org_id, product_id, create_time desc, id)',
    `create index devices_by_product_id_and_state
      on devices (org_id, product_id, state, create_time desc, id)`,
    'create index devices_by_name on devices (org_id, name, id desc)',
    'create index products_newest_first on products (org_id, create_time desc, id)',
  ];
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
