import type { Kysely } from 'kysely';

/** Every key starts with the organization, so ids are unique only within an organization. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('products')
    .addColumn('org_id', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('protocol', 'text', (column) => column.notNull())
    .addColumn('transport', 'text', (column) => column.notNull())
    .addColumn('metadata', 'text', (column) => column.notNull())
    .addColumn('create_time', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('products_key', ['org_id', 'id'])
    .execute();

  await db.schema
    .createTable('devices')
    .addColumn('org_id', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('product_id', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('device_type', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('address', 'text', (column) => column.notNull())
    .addColumn('online_time', 'bigint', (column) => column.notNull())
    .addColumn('offline_time', 'bigint', (column) => column.notNull())
    .addColumn('create_time', 'bigint', (column) => column.notNull())
    .addColumn('register_time', 'bigint', (column) => column.notNull())
    .addColumn('configuration', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('devices_key', ['org_id', 'id'])
    .addForeignKeyConstraint('devices_product', ['org_id', 'product_id'], 'products', [
      'org_id',
      'id',
    ])
    .execute();

  await db.schema
    .createIndex('devices_newest_first')
    .on('devices')
    .columns(['org_id', 'create_time desc', 'id'])
    .execute();
}
