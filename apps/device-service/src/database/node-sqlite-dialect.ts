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

/** Kysely over Node's own SQLite, which it has no dialect for. One connection, one process. */
export function createNodeSqliteDialect(database: DatabaseSync): Dialect {
  return {
    createDriver: () => new ImmediateSqliteDriver(database),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: () => new TransactionalSqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

/** SQLite rolls back CREATE TABLE like anything else, so migrations may run inside one transaction. */
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

  /** Takes the write lock first: a transaction that reads and then writes could otherwise not wait for it. */
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'));
  }

  /** A full disk makes SQLite roll back by itself; a second rollback would hide the reason. */
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

/** Kysely knows parameters as unknown; node:sqlite itself throws for what it cannot bind. */
function toInputs(parameters: readonly unknown[]): SQLInputValue[] {
  return parameters as SQLInputValue[];
}
