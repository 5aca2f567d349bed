import { sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { DatabaseUnavailableError } from './database-errors.ts';
import * as productsAndDevices from './migrations/0001-products-and-devices.ts';
import { tagsAndLogs } from './migrations/0002-tags-and-logs.ts';
import { deviceCounts } from './migrations/0003-device-counts.ts';
import type { DatabaseEngine, DeviceDatabase } from './tables.ts';

/** Migrations run in the order of their names. A published migration never changes. */
function migrationsFor(engine: DatabaseEngine): Readonly<Record<string, Migration>> {
  return {
    '0001-products-and-devices': productsAndDevices,
    '0002-tags-and-logs': tagsAndLogs(engine),
    '0003-device-counts': deviceCounts(engine),
  };
}

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
      provider: { getMigrations: async () => ({ ...migrationsFor(engine) }) },
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
