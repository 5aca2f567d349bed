import type { DatabaseSync } from 'node:sqlite';
import { type Dialect, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';
import { SqliteGroupDriver } from './sqlite-group-driver.ts';

/** A dialect for `node:sqlite`, which Kysely does not include. It uses one connection. */
export function createNodeSqliteDialect(database: DatabaseSync): Dialect {
  return {
    createDriver: () => new SqliteGroupDriver(database),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: () => new TransactionalSqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
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
