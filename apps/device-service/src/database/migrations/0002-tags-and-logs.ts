import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import type { DatabaseEngine } from '../tables.ts';

/**
 * Adds tags, logs, and the members that a device inherits from its product. From here on,
 * PostgreSQL compares text by byte, as SQLite does. Ids sort the same on both, and indexes support
 * LIKE 'abc%'.
 */
export function tagsAndLogs(engine: DatabaseEngine): Migration {
  const text = engine === 'postgres' ? sql`text collate "C"` : sql`text`;
  return {
    up: async (db) => {
      if (engine === 'postgres') {
        await collateByByte(db, 'products', ['org_id', 'id', 'name', 'protocol', 'transport']);
        await collateByByte(db, 'devices', [
          'org_id',
          'id',
          'product_id',
          'name',
          'state',
          'address',
        ]);
      }
      await extendProductsAndDevices(db, text);
      await createTags(db, text);
      await createLogs(db, text);
    },
  };
}

type TextType = ReturnType<typeof sql>;

async function collateByByte(
  db: Kysely<unknown>,
  table: string,
  columns: readonly string[],
): Promise<void> {
  const changes = columns.map(
    (column) => sql`alter column ${sql.ref(column)} type text collate "C"`,
  );
  await sql`alter table ${sql.table(table)} ${sql.join(changes)}`.execute(db);
}

async function extendProductsAndDevices(db: Kysely<unknown>, text: TextType): Promise<void> {
  await db.schema
    .alterTable('products')
    .addColumn('device_type', text, (column) => column.notNull().defaultTo('device'))
    .execute();
  await db.schema.alterTable('devices').dropColumn('device_type').execute();
  for (const column of ['incarnation', 'connected']) {
    await db.schema
      .alterTable('devices')
      .addColumn(column, 'bigint', (definition) => definition.notNull().defaultTo(0))
      .execute();
  }
  for (const column of ['protocol', 'transport', 'metadata']) {
    await db.schema.alterTable('devices').addColumn(column, text).execute();
  }
}

async function createTags(db: Kysely<unknown>, text: TextType): Promise<void> {
  await db.schema
    .createTable('device_tags')
    .addColumn('org_id', text, (column) => column.notNull())
    .addColumn('device_id', text, (column) => column.notNull())
    .addColumn('tag_key', text, (column) => column.notNull())
    .addColumn('name', text, (column) => column.notNull())
    .addColumn('value', text, (column) => column.notNull())
    .addColumn('type', text, (column) => column.notNull())
    .addColumn('description', text, (column) => column.notNull())
    .addColumn('create_time', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('device_tags_key', ['org_id', 'device_id', 'tag_key'])
    .addForeignKeyConstraint(
      'device_tags_device',
      ['org_id', 'device_id'],
      'devices',
      ['org_id', 'id'],
      (constraint) => constraint.onDelete('cascade'),
    )
    .execute();
}

/**
 * Without a foreign key: the log of a deleted device is unreachable and expires like other logs.
 */
async function createLogs(db: Kysely<unknown>, text: TextType): Promise<void> {
  await db.schema
    .createTable('device_logs')
    .addColumn('org_id', text, (column) => column.notNull())
    .addColumn('device_id', text, (column) => column.notNull())
    .addColumn('incarnation', 'bigint', (column) => column.notNull())
    .addColumn('timestamp', 'bigint', (column) => column.notNull())
    .addColumn('id', text, (column) => column.notNull())
    .addColumn('product_id', text, (column) => column.notNull())
    .addColumn('type', text, (column) => column.notNull())
    .addColumn('create_time', 'bigint', (column) => column.notNull())
    .addColumn('content', text, (column) => column.notNull())
    .addColumn('message_id', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('device_logs_key', [
      'org_id',
      'device_id',
      'incarnation',
      'timestamp',
      'id',
    ])
    .execute();
  await db.schema
    .createIndex('device_logs_by_type')
    .on('device_logs')
    .columns(['org_id', 'device_id', 'incarnation', 'type', 'timestamp', 'id'])
    .execute();
  await db.schema
    .createIndex('device_logs_oldest_first')
    .on('device_logs')
    .column('create_time')
    .execute();
}
