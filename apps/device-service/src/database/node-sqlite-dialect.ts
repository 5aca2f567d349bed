import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
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
import { cacheStatements } from './sqlite-statement-cache.ts';

const CACHED_STATEMENTS = 64;

/** A dialect for `node:sqlite`, which Kysely does not include. It uses one connection. */
export function createNodeSqliteDialect(database: DatabaseSync): Dialect {
  return {
    createDriver: () => new ImmediateSqliteDriver(database),
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

class ImmediateSqliteDriver extends SqliteDriver {
  readonly #database: DatabaseSync;
  readonly #waiting: (() => void)[] = [];
  #isBusy = false;

  constructor(database: DatabaseSync) {
    super({ database: toKyselyDatabase(database) });
    this.#database = database;
  }

  /** Gives the only connection to one user at a time, in the order of their calls. */
  override async acquireConnection(): Promise<DatabaseConnection> {
    if (this.#isBusy) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    this.#isBusy = true;
    return super.acquireConnection();
  }

  override async releaseConnection(): Promise<void> {
    const next = this.#waiting.shift();
    if (next === undefined) {
      this.#isBusy = false;
    } else {
      next();
    }
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
    prepare: cacheStatements(
      (sql) => toKyselyStatement(translateSqliteErrors(() => database.prepare(sql))),
      CACHED_STATEMENTS,
    ),
    close: () => database.close(),
  };
}

/** Reads rows as arrays, because `node:sqlite` needs twice the time for objects. */
function toKyselyStatement(statement: StatementSync): SqliteStatement {
  let names = statement.columns().map(({ name }) => name);
  statement.setReturnArrays(true);
  return {
    reader: names.length > 0,
    all: (parameters) => {
      const rows = translateSqliteErrors(
        () => statement.all(...toInputs(parameters)) as unknown as readonly SQLOutputValue[][],
      );
      // SQLite prepares `select *` again after a change of the schema.
      if (rows.length > 0 && rows[0]?.length !== names.length) {
        names = statement.columns().map(({ name }) => name);
      }
      return rows.map((row) => toObject(names, row));
    },
    run: (parameters) => translateSqliteErrors(() => statement.run(...toInputs(parameters))),
    iterate: (parameters) => statement.iterate(...toInputs(parameters)),
  };
}

function toObject(names: readonly string[], row: readonly SQLOutputValue[]) {
  const object: Record<string, SQLOutputValue | undefined> = {};
  for (let i = 0; i < names.length; i += 1) {
    object[names[i] as string] = row[i];
  }
  return object;
}

/** Kysely types parameters as unknown. node:sqlite throws for values that it cannot bind. */
function toInputs(parameters: readonly unknown[]): SQLInputValue[] {
  return parameters as SQLInputValue[];
}
