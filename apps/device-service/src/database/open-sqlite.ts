import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kysely, sql } from 'kysely';
import type { DeviceDatabase, Tables } from '../tables/tables.ts';
import { migrateDatabase, type NewDatabaseCallback } from './migrate-database.ts';
import { createNodeSqliteDialect } from './node-sqlite-dialect.ts';
import { observeQueries } from './observe-queries.ts';
import type { OpenDatabase, OpenOptions } from './open-database.ts';
import { isLocked, translateSqliteErrors } from './sqlite-errors.ts';
import { probeWrite, watchWrites } from './watch-writes.ts';

/** A start can wait for the migration of another process. A waiting request blocks all others. */
const START_LOCK_TIMEOUT_MILLISECONDS = 10_000;
const REQUEST_LOCK_TIMEOUT_MILLISECONDS = 250;
const RETRY_DELAY_MILLISECONDS = 20;

/** Opens the file, or creates it. */
export async function openSqlite(
  path: string,
  onNewDatabase: NewDatabaseCallback,
  { observer }: OpenOptions = {},
): Promise<OpenDatabase> {
  const connection = connect(path);
  const writes = watchWrites({
    probe: () => probeWrite(tables, 'sqlite'),
    onChange: (isWritable) => observer?.writable(isWritable),
  });
  const tables: DeviceDatabase = new Kysely<Tables>({
    dialect: createNodeSqliteDialect(connection),
    log: observeQueries(observer, writes),
  });
  try {
    await configure(connection);
    await migrateDatabase(tables, 'sqlite', onNewDatabase);
    connection.exec(`pragma busy_timeout = ${REQUEST_LOCK_TIMEOUT_MILLISECONDS}`);
  } catch (error) {
    connection.close();
    throw error;
  }
  return {
    engine: 'sqlite',
    tables,
    ping: async () => {
      await sql`select count(*) from sqlite_master`.execute(tables);
    },
    assertWritable: async () => writes.assertWritable(),
    about: async () => ({
      engine: 'sqlite',
      version: process.versions.sqlite ?? 'unknown',
      time: Date.now(),
    }),
    close: async () => {
      await writes.close();
      await tables.destroy();
    },
  };
}

function connect(path: string): DatabaseSync {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  createPrivately(path);
  return translateSqliteErrors(
    () => new DatabaseSync(path, { timeout: START_LOCK_TIMEOUT_MILLISECONDS, defensive: true }),
  );
}

/** SQLite would create a file that every user can read. Its `-wal` and `-shm` get the same mode. */
function createPrivately(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch {
    // The file exists, or SQLite will report the reason.
  }
}

/** FULL: a commit is on the disk before the reply, and survives a power failure. */
async function configure(connection: DatabaseSync): Promise<void> {
  await retryWhileLocked(() => connection.exec('pragma journal_mode = wal'));
  connection.exec('pragma synchronous = full');
  connection.exec('pragma foreign_keys = on');
}

/** If two processes switch a new file to WAL at the same time, SQLite fails one of them. */
async function retryWhileLocked(operation: () => void): Promise<void> {
  const deadline = performance.now() + START_LOCK_TIMEOUT_MILLISECONDS;
  for (;;) {
    try {
      translateSqliteErrors(operation);
      return;
    } catch (error) {
      if (!isLocked(error) || performance.now() > deadline) {
        throw error;
      }
      await sleep(RETRY_DELAY_MILLISECONDS);
    }
  }
}
