import { sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import type { DatabaseEngine, DeviceDatabase } from '../tables/tables.ts';
import { DatabaseUnavailable } from './database-unavailable.ts';
import * as productsAndDevices from './migrations/0001-products-and-devices.ts';
import { tagsAndLogs } from './migrations/0002-tags-and-logs.ts';
import { deviceCounts } from './migrations/0003-device-counts.ts';

/** In the order they run, which is the order of their names. A published one never changes. */
function migrationsFor(engine: DatabaseEngine): Readonly<Record<string, Migration>> {
  return {
    '0001-products-and-devices': productsAndDevices,
    '0002-tags-and-logs': tagsAndLogs(engine),
    '0003-device-counts': deviceCounts(engine),
  };
}

/** One lock for all processes of this service on one database. */
const MIGRATION_LOCK = 0x4761_7465n;

/** Runs in the transaction that makes the tables: a database never exists half-filled. */
export type NewDatabaseHook = (tables: DeviceDatabase) => Promise<void>;

/**
 * Brings the tables up to this version, forward only. All of it is one transaction that holds the write
 * lock (SQLite) or an advisory lock (PostgreSQL), so processes that start at once wait for each other and
 * only one of them migrates.
 *
 * @param target the last migration to run; all of them by default
 */
export async function migrateDatabase(
  tables: DeviceDatabase,
  engine: DatabaseEngine,
  whenNew: NewDatabaseHook,
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
      throw error instanceof DatabaseUnavailable
        ? error
        : new Error('The tables cannot be brought up to this version.', { cause: error });
    }
    if (isNew) {
      await whenNew(transaction);
    }
  });
}
