import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kysely, sql } from 'kysely';
import { isLocked, translateSqliteError } from './database-errors.ts';
import { migrateDatabase, type NewDatabaseCallback } from './migrate.ts';
import { type DatabaseObservation, runDirectly } from './observation.ts';
import { createSqliteDialect, SqliteDriver } from './sqlite-driver.ts';
import type { DeviceDatabase, OpenDatabase, Tables } from './tables.ts';

/** A start can wait for the migration of another process. A waiting request blocks all others. */
const START_LOCK_TIMEOUT_MILLISECONDS = 10_000;
const REQUEST_LOCK_TIMEOUT_MILLISECONDS = 250;
const RETRY_DELAY_MILLISECONDS = 20;

/** Opens the file, or creates it. */
export async function openSqlite(
  path: string,
  onNewDatabase: NewDatabaseCallback,
  observation: DatabaseObservation,
): Promise<OpenDatabase> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  createPrivately(path);
  const options = { open: false, timeout: START_LOCK_TIMEOUT_MILLISECONDS, defensive: true };
  const connection = new DatabaseSync(path, options);
  const driver = new SqliteDriver(connection);
  const dialect = createSqliteDialect(driver);
  const tables: DeviceDatabase = new Kysely<Tables>({ dialect, log: observation.log });
  try {
    connection.open();
    await switchToWal(connection);
    // A commit is on the disk before the reply, and survives a power failure.
    connection.exec('pragma synchronous = full');
    connection.exec('pragma foreign_keys = on');
    await migrateDatabase(tables, 'sqlite', onNewDatabase);
    connection.exec(`pragma busy_timeout = ${REQUEST_LOCK_TIMEOUT_MILLISECONDS}`);
  } catch (error) {
    if (connection.isOpen) {
      connection.close();
    }
    throw translateSqliteError(error);
  }
  return {
    engine: 'sqlite',
    tables,
    run: runDirectly(driver, observation.log),
    ping: async () => {
      await sql`select count(*) from sqlite_master`.execute(tables);
    },
    assertWritable: async () => observation.assertWritable(),
    about: async () => ({
      engine: 'sqlite',
      version: process.versions.sqlite ?? 'unknown',
      time: Date.now(),
    }),
    close: () => tables.destroy(),
  };
}

/** SQLite would create a file that every user can read. Its `-wal` and `-shm` get the same mode. */
function createPrivately(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch {
    // The file exists, or SQLite will report the reason.
  }
}

/** If two processes switch a new file to WAL at the same time, SQLite fails one of them. */
async function switchToWal(connection: DatabaseSync): Promise<void> {
  const deadline = performance.now() + START_LOCK_TIMEOUT_MILLISECONDS;
  for (;;) {
    try {
      connection.exec('pragma journal_mode = wal');
      return;
    } catch (error) {
      if (!isLocked(error) || performance.now() > deadline) {
        throw error;
      }
      await sleep(RETRY_DELAY_MILLISECONDS);
    }
  }
}
