import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type SqliteStatement,
} from 'kysely';
import { translateSqliteErrors } from './sqlite-errors.ts';

/** A dialect for `node:sqlite`, which Kysely does not include. It uses one connection. */
export function createNodeSqliteDialect(database: DatabaseSync): Dialect {
  return {
    createDriver: () => new ImmediateSqliteDriver(database),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: () => new TransactionalSqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

/** SQLite can roll back CREATE TABLE, so migrations can run in one transaction. */
class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

class ImmediateSqliteDriver extends SqliteDriver {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    super({ database: toKyselyDatabase(database) });
    this.#database = database;
  }

  /**
   * Takes the write lock first. SQLite does not wait for it if the transaction has already read.
   */
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'));
  }

  /** SQLite rolls back itself if the disk is full. A second rollback would hide the reason. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#database.isTransaction) {
      await super.rollbackTransaction(connection);
    }
  }
}

function toKyselyDatabase(database: DatabaseSync): SqliteDatabase {
  return {
    prepare: (sql) => toKyselyStatement(translateSqliteErrors(() => database.prepare(sql))),
    close: () => database.close(),
  };
}

function toKyselyStatement(statement: StatementSync): SqliteStatement {
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => translateSqliteErrors(() => statement.all(...toInputs(parameters))),
    run: (parameters) => translateSqliteErrors(() => statement.run(...toInputs(parameters))),
    iterate: (parameters) => statement.iterate(...toInputs(parameters)),
  };
}

/** Kysely types parameters as unknown. node:sqlite throws for values that it cannot bind. */
function toInputs(parameters: readonly unknown[]): SQLInputValue[] {
  return parameters as SQLInputValue[];
}
