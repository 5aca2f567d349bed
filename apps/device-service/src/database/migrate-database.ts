import { type Migration, Migrator } from 'kysely/migration';
import type { DeviceDatabase } from './database.ts';
import { DatabaseUnavailable } from './database-unavailable.ts';
import * as productsAndDevices from './migrations/0001-products-and-devices.ts';

/** In the order they run, which is the order of their names. A published one never changes. */
const migrations: Readonly<Record<string, Migration>> = {
  '0001-products-and-devices': productsAndDevices,
};

/** Runs in the transaction that makes the tables: a database never exists half-filled. */
export type NewDatabaseHook = (tables: DeviceDatabase) => Promise<void>;

/**
 * Brings the tables up to this version, forward only. All of it is one transaction that holds the write
 * lock, so processes that start at once wait for each other and only one of them migrates.
 */
export async function migrateDatabase(
  tables: DeviceDatabase,
  whenNew: NewDatabaseHook,
): Promise<void> {
  await tables.transaction().execute(async (transaction) => {
    const migrator = new Migrator({
      db: transaction,
      provider: { getMigrations: async () => ({ ...migrations }) },
    });
    const isNew = (await migrator.getMigrations()).every(({ executedAt }) => !executedAt);
    const { error } = await migrator.migrateToLatest();
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
