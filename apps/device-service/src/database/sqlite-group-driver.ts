import type { DatabaseSync } from 'node:sqlite';
import { CompiledQuery, type DatabaseConnection, type Driver, type QueryResult } from 'kysely';
import { DatabaseUnavailableError } from './database-errors.ts';
import { cacheStatements } from './sqlite-statements.ts';

/** A longer commit would delay the replies of its first members. */
const MAXIMUM_MEMBERS = 64;

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
class Turn implements DatabaseConnection {
  readonly #execute: (turn: Turn, query: CompiledQuery) => QueryResult<unknown>;
  isInTransaction = false;
  hasEnded = false;

  constructor(execute: (turn: Turn, query: CompiledQuery) => QueryResult<unknown>) {
    this.#execute = execute;
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    return this.#execute(this, query) as QueryResult<Row>;
  }

  streamQuery(): never {
    throw new Error('The service reads no streams of rows.');
  }
}

/**
 * Gives the only connection to one user at a time, in the order of their calls. Transactions of one
 * event-loop turn share a commit, because each commit waits for the disk. None of them succeeds
 * before the commit, and no query outside of them runs before it.
 */
export class SqliteGroupDriver implements Driver {
  readonly #database: DatabaseSync;
  readonly #statementOf;
  readonly #waiting: (() => void)[] = [];
  #isBusy = false;
  #group: Group | undefined;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#statementOf = cacheStatements(database);
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    if (this.#isBusy) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    this.#isBusy = true;
    return new Turn((turn, query) => this.#execute(turn, query));
  }

  async releaseConnection(turn: DatabaseConnection): Promise<void> {
    this.#end(turn as Turn);
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    const turn = connection as Turn;
    turn.isInTransaction = true;
    if (this.#group === undefined) {
      await turn.executeQuery(BEGIN);
      const group = new Group();
      this.#group = group;
      setImmediate(() => this.#becomeDue(group, turn));
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
    this.#end(turn);
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
    if (!turn.isInTransaction) {
      this.#commit(turn);
    }
    try {
      return this.#statementOf(query.sql)(query.parameters);
    } catch (error) {
      if (query === COMMIT) {
        this.#rollBack();
      }
      throw error;
    }
  }

  #becomeDue(group: Group, turn: Turn): void {
    if (group !== this.#group) {
      return;
    }
    if (group.hasOpenMember) {
      group.isDue = true;
    } else {
      this.#commit(turn);
    }
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

  #end(turn: Turn): void {
    if (!turn.hasEnded) {
      turn.hasEnded = true;
      const next = this.#waiting.shift();
      if (next === undefined) {
        this.#isBusy = false;
      } else {
        next();
      }
    }
  }
}
