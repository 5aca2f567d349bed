import type { DatabaseSync } from 'node:sqlite';
import {
  type Dialect,
  type LimitNode,
  type OffsetNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { SqliteGroupDriver } from './sqlite-group-driver.ts';

/** A dialect for `node:sqlite`, which Kysely does not include. It uses one connection. */
export function createNodeSqliteDialect(database: DatabaseSync): Dialect {
  return {
    createDriver: () => new SqliteGroupDriver(database),
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
