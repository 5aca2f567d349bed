import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Dialect,
  Kysely,
  type LimitNode,
  type OffsetNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely';
import { isLocked, translateSqliteErrors } from './database-errors.ts';
import { migrateDatabase, type NewDatabaseCallback } from './migrate.ts';
import { type DatabaseObservation, runDirectly } from './observation.ts';
import { SqliteGroupDriver } from './sqlite-group-driver.ts';
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
  const connection = connect(path);
  const driver = new SqliteGroupDriver(connection);
  const tables: DeviceDatabase = new Kysely<Tables>({
    dialect: createSqliteDialect(driver),
    log: observation.log,
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

/** A dialect for `node:sqlite`, which Kysely does not include. It uses one connection. */
export function createSqliteDialect(driver: SqliteGroupDriver): Dialect {
  return {
    createDriver: () => driver,
    createQueryCompiler: () => new SteadyLimitCompiler(),
    createAdapter: () => new TransactionalSqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

/**
 * SQLite prepares a statement again when a plain parameter in LIMIT or OFFSET is bound, which takes
 * longer than reading a page. An expression avoids it.
 */
class SteadyLimitCompiler extends SqliteQueryCompiler {
  protected override visitLimit(node: LimitNode): void {
    this.append('limit +');
    this.visitNode(node.limit);
  }

  protected override visitOffset(node: OffsetNode): void {
    this.append('offset +');
    this.visitNode(node.offset);
  }
}

class TransactionalSqliteAdapter extends SqliteAdapter {
  /** The driver queues for the connection. The mutex of Kysely wakes every waiter each time. */
  override get supportsMultipleConnections(): boolean {
    return true;
  }

  /** SQLite can roll back CREATE TABLE, so migrations can run in one transaction. */
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}
