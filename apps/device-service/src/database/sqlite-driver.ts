/**
 * The driver and dialect of Kysely for `node:sqlite`, which Kysely does not include. It uses one
 * connection, and turns errors that the database causes into `DatabaseUnavailableError`.
 */
import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type LimitNode,
  type OffsetNode,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { LRUCache } from 'lru-cache';
import { DatabaseUnavailableError, translateSqliteError } from './database-errors.ts';

/** A longer commit would delay the replies of its first members. */
const MAXIMUM_MEMBERS = 64;
const CACHED_STATEMENTS = 64;
/** Batches have long texts, and a statement keeps the values that were bound last. */
const MAXIMUM_TEXT_LENGTH = 4096;

/** Takes the write lock first. SQLite does not wait for it if the transaction has already read. */
const BEGIN = CompiledQuery.raw('begin immediate');
const COMMIT = CompiledQuery.raw('commit');
const ROLLBACK = CompiledQuery.raw('rollback');
const SAVE = CompiledQuery.raw('savepoint member');
const KEEP = CompiledQuery.raw('release member');
const UNDO = CompiledQuery.raw('rollback to member');

/** Transactions that one commit writes. Each is a savepoint, so that it can fail alone. */
class Group {
  readonly outcome = Promise.withResolvers<void>();
  /** Transactions that wait for the commit. */
  members = 0;
  hasOpenMember = false;
  /** The open member is the last one. */
  isDue = false;

  constructor() {
    // Without members, no transaction awaits the outcome.
    this.outcome.promise.catch(() => undefined);
  }
}

/** One use of the only connection: a query, or the queries of a transaction. */
interface Turn extends DatabaseConnection {
  isInTransaction: boolean;
  hasEnded: boolean;
}

/**
 * Gives the only connection to one user at a time, in the order of their calls. Transactions of one
 * event-loop turn share a commit, because each commit waits for the disk. None of them succeeds
 * before the commit, and no query outside of them runs before it.
 */
export class SqliteDriver implements Driver {
  readonly #database: DatabaseSync;
  readonly #statements = new LRUCache<string, SqliteStatement>({ max: CACHED_STATEMENTS });
  readonly #waiting: (() => void)[] = [];
  #isBusy = false;
  #group: Group | undefined;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    if (this.#isBusy) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    this.#isBusy = true;
    const turn: Turn = {
      isInTransaction: false,
      hasEnded: false,
      executeQuery: async <Row>(query: CompiledQuery) =>
        this.#execute(turn, query) as QueryResult<Row>,
      streamQuery() {
        throw new Error('The service reads no streams of rows.');
      },
    };
    return turn;
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    const turn = connection as Turn;
    if (!turn.hasEnded) {
      turn.hasEnded = true;
      const next = this.#waiting.shift();
      this.#isBusy = next !== undefined;
      next?.();
    }
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    const turn = connection as Turn;
    turn.isInTransaction = true;
    if (this.#group === undefined) {
      await turn.executeQuery(BEGIN);
      const group = new Group();
      this.#group = group;
      setImmediate(() => {
        group.isDue = true;
        if (group === this.#group && !group.hasOpenMember) {
          this.#commit(turn);
        }
      });
    }
    await turn.executeQuery(SAVE);
    this.#group.hasOpenMember = true;
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    const turn = connection as Turn;
    const group = this.#group;
    await turn.executeQuery(KEEP);
    turn.isInTransaction = false;
    if (group === undefined) {
      throw new Error('No transaction is open.');
    }
    group.hasOpenMember = false;
    group.members += 1;
    if (group.isDue || group.members === MAXIMUM_MEMBERS) {
      this.#commit(turn);
    }
    await this.releaseConnection(turn);
    await group.outcome.promise;
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    const turn = connection as Turn;
    const group = this.#group;
    // The commit of the group failed, and rolled back.
    if (turn.hasEnded || group === undefined) {
      return;
    }
    group.hasOpenMember = false;
    try {
      // SQLite rolls back itself if the disk is full. A second rollback would hide the reason.
      if (!this.#database.isTransaction) {
        this.#lose(group);
      } else if (group.members === 0) {
        this.#group = undefined;
        await turn.executeQuery(ROLLBACK);
      } else {
        await turn.executeQuery(UNDO);
        await turn.executeQuery(KEEP);
      }
    } catch (error) {
      this.#lose(group);
      throw error;
    } finally {
      turn.isInTransaction = false;
    }
    if (group.isDue) {
      this.#commit(turn);
    }
  }

  async destroy(): Promise<void> {
    this.#database.close();
  }

  /** Synchronous, so that no other query runs between a failed commit and its rollback. */
  #execute(turn: Turn, query: CompiledQuery): QueryResult<unknown> {
    if (this.#group !== undefined && !turn.isInTransaction) {
      this.#commit(turn);
    }
    try {
      const statement = this.#statements.get(query.sql) ?? this.#prepare(query.sql);
      return statement(query.parameters);
    } catch (error) {
      if (query === COMMIT) {
        this.#rollBack();
      }
      throw translateSqliteError(error);
    }
  }

  /** SQLite itself prepares a statement again after a change of the schema. */
  #prepare(text: string): SqliteStatement {
    const statement = prepareStatement(this.#database, text);
    if (text.length <= MAXIMUM_TEXT_LENGTH) {
      this.#statements.set(text, statement);
    }
    return statement;
  }

  #commit(turn: Turn): void {
    const group = this.#group;
    if (group !== undefined) {
      this.#group = undefined;
      // Runs the statement before it returns, and reports it to the log of Kysely.
      turn.executeQuery(COMMIT).then(() => group.outcome.resolve(), group.outcome.reject);
    }
  }

  #lose(group: Group): void {
    this.#group = undefined;
    this.#rollBack();
    group.outcome.reject(
      new DatabaseUnavailableError(new Error('Another transaction of the same commit failed.')),
    );
  }

  #rollBack(): void {
    if (this.#database.isTransaction) {
      this.#database.exec('rollback');
    }
  }
}

type Row = Record<string, SQLOutputValue | undefined>;

type SqliteStatement = (parameters: CompiledQuery['parameters']) => QueryResult<Row>;

/** Reads rows as arrays, because `node:sqlite` needs twice the time for objects. */
function prepareStatement(database: DatabaseSync, text: string): SqliteStatement {
  const statement = database.prepare(text);
  const names = statement.columns().map(({ name }) => name);
  // Kysely types parameters as unknown. node:sqlite throws for values that it cannot bind.
  if (names.length === 0) {
    return (parameters) => {
      const { changes, lastInsertRowid } = statement.run(...(parameters as SQLInputValue[]));
      return { insertId: BigInt(lastInsertRowid), numAffectedRows: BigInt(changes), rows: [] };
    };
  }
  statement.setReturnArrays(true);
  return (parameters) => {
    const rows = statement.all(...(parameters as SQLInputValue[])) as unknown as SQLOutputValue[][];
    const toObject = (row: readonly SQLOutputValue[]) => {
      const object: Row = {};
      for (let i = 0; i < names.length; i += 1) {
        object[names[i] as string] = row[i];
      }
      return object;
    };
    return { rows: rows.map(toObject) };
  };
}

export function createSqliteDialect(driver: SqliteDriver): Dialect {
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
