import type { DatabaseSync } from 'node:sqlite';
import {
  type AppendOptions,
  assertAmount,
  assertEpochMilliseconds,
  assertPositiveInteger,
  type Counter,
  lifetimeMilliseconds,
  NEVER_EXPIRES,
  type Store,
  StoreFullError,
  type StoreRoom,
  StoreUnavailableError,
  type WriteOptions,
} from '../store.ts';
import {
  inTransaction,
  openSqliteDatabase,
  runWhenUnlocked,
  sqliteOutageReason,
} from './sqlite-database.ts';
import { createReserve, readSqliteRoom, reserveReason, startSweeping } from './sqlite-space.ts';
import { createLogTrim, prepareStatements, type SqliteStatements } from './sqlite-statements.ts';

export interface SqliteStoreDependencies {
  readonly now: () => number;
}

const PING_KEY = 'ready';
const PING_SECONDS = 60;

/** @throws StoreUnavailableError if the file cannot be opened or created */
export function createSqliteStore(path: string, dependencies: SqliteStoreDependencies): Store {
  try {
    return new SqliteStore(path, openSqliteDatabase(path), dependencies);
  } catch (error) {
    throw new StoreUnavailableError('open', error, sqliteOutageReason(error));
  }
}

/** The embedded engine: one file shared by the processes of one machine. */
class SqliteStore implements Store {
  readonly #path: string;
  readonly #database: DatabaseSync;
  readonly #statements: SqliteStatements;
  readonly #now: () => number;
  readonly #isReserveReached: () => boolean;
  readonly #shareCommit: ReturnType<typeof createSharedCommit>;
  readonly #trimLog: ReturnType<typeof createLogTrim>;
  readonly #stopSweeping: () => void;

  constructor(path: string, database: DatabaseSync, dependencies: SqliteStoreDependencies) {
    this.#path = path;
    this.#database = database;
    this.#statements = prepareStatements(database);
    this.#now = dependencies.now;
    this.#trimLog = createLogTrim(this.#statements, dependencies.now);
    this.#isReserveReached = createReserve(path);
    this.#shareCommit = createSharedCommit(database, (work) => runWhenUnlocked('claim', work));
    this.#stopSweeping = startSweeping(database, this.#statements, dependencies.now);
  }

  get(key: string): Promise<string | undefined> {
    return runWhenUnlocked('get', () => {
      const row = this.#statements.get.get(key, this.#now());
      return row === undefined ? undefined : String(row.value);
    });
  }

  async set(
    key: string,
    value: string,
    ttlSeconds?: number,
    options?: WriteOptions,
  ): Promise<void> {
    const lifetime = ttlSeconds === undefined ? undefined : lifetimeMilliseconds(ttlSeconds);
    this.#assertRoom('set', options);
    await runWhenUnlocked('set', () =>
      this.#statements.set.run(key, value, this.#expiry(lifetime)),
    );
  }

  async claim(
    key: string,
    owner: string,
    ttlSeconds?: number,
    options?: WriteOptions,
  ): Promise<string> {
    const lifetime = ttlSeconds === undefined ? undefined : lifetimeMilliseconds(ttlSeconds);
    this.#assertRoom('claim', options);
    const work = () => {
      const now = this.#now();
      const expiry = this.#expiry(lifetime);
      const [row] = this.#statements.claim.all({ key, owner, expiry, now });
      return String(row?.holder);
    };
    // On a full disk, a revocation must not fail together with other writes.
    return options?.revokes === true ? runWhenUnlocked('claim', work) : this.#shareCommit(work);
  }

  async replace(key: string, expected: string, value: string): Promise<boolean> {
    this.#assertRoom('replace');
    return runWhenUnlocked('replace', () => {
      const now = this.#now();
      return Number(this.#statements.replace.run({ key, expected, value, now }).changes) > 0;
    });
  }

  async delete(keys: readonly string[]): Promise<void> {
    await this.#write('delete', () => {
      for (const key of keys) {
        for (const statement of this.#statements.removeKey) {
          statement.run(key);
        }
      }
    });
  }

  async increment(key: string, windowSeconds: number, amount = 1): Promise<Counter> {
    const window = lifetimeMilliseconds(windowSeconds);
    assertAmount(amount);
    if (amount > 0) {
      this.#assertRoom('increment');
    }
    return runWhenUnlocked('increment', () => {
      const now = this.#now();
      if (amount === 0) {
        return counterOf(this.#statements.counter.get(key, now) ?? { count: 0, resetsAt: now });
      }
      const [row] = this.#statements.increment.all({ key, amount, now, end: now + window });
      return counterOf(row);
    });
  }

  async decrement(key: string): Promise<void> {
    await runWhenUnlocked('decrement', () => this.#statements.decrement.run(key, this.#now()));
  }

  async addToIndex(key: string, member: string, expiresAt: number): Promise<void> {
    assertEpochMilliseconds(expiresAt);
    this.#assertRoom('addToIndex');
    await runWhenUnlocked('addToIndex', () =>
      this.#statements.addToIndex.run(key, member, expiresAt),
    );
  }

  async removeFromIndex(key: string, member: string): Promise<void> {
    await runWhenUnlocked('removeFromIndex', () =>
      this.#statements.removeFromIndex.run(key, member),
    );
  }

  members(key: string): Promise<readonly string[]> {
    return runWhenUnlocked('members', () =>
      this.#statements.members.all(key, this.#now()).map((row) => String(row.member)),
    );
  }

  async append(
    key: string,
    entries: readonly string[],
    capacity: number,
    { replaces, maximumAgeSeconds, revokes = false }: AppendOptions = {},
  ): Promise<void> {
    assertPositiveInteger('A capacity', capacity);
    const maximumAge =
      maximumAgeSeconds === undefined ? 0 : lifetimeMilliseconds(maximumAgeSeconds);
    this.#assertRoom('append', { revokes });
    await this.#write('append', () => {
      if (replaces !== undefined) {
        this.#statements.removeEntry.run(key, replaces);
      }
      for (const entry of entries) {
        this.#statements.append.run(key, entry, this.#now());
      }
      this.#trimLog({ key, capacity, maximumAge }, entries.length);
    });
  }

  async read(key: string, limit: number): Promise<readonly string[]> {
    assertPositiveInteger('A limit', limit);
    return runWhenUnlocked('read', () =>
      this.#statements.read.all(key, limit).map((row) => String(row.entry)),
    );
  }

  async ping(): Promise<StoreRoom> {
    await this.set(PING_KEY, '', PING_SECONDS);
    await runWhenUnlocked('ping', () => this.#statements.ping.get());
    return readSqliteRoom(this.#path);
  }

  async close(): Promise<void> {
    this.#stopSweeping();
    if (this.#database.isOpen) {
      this.#database.close();
    }
  }

  #expiry(lifetime: number | undefined): number {
    return lifetime === undefined ? NEVER_EXPIRES : this.#now() + lifetime;
  }

  /** @throws StoreFullError for a write that is not a revocation, if only the reserve is left */
  #assertRoom(operation: string, { revokes = false }: WriteOptions = {}): void {
    if (!revokes && this.#isReserveReached()) {
      throw new StoreFullError(operation, undefined, reserveReason);
    }
  }

  #write(operation: string, work: () => void): Promise<void> {
    return runWhenUnlocked(operation, () => inTransaction(this.#database, work));
  }
}

function counterOf(row: Record<string, unknown> | undefined): Counter {
  return { count: Number(row?.count), resetsAt: Number(row?.resetsAt) };
}

interface Write {
  readonly work: () => string;
  readonly resolve: (result: string) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Returns a function that runs a write together with all others of one turn of the event loop. They
 * share a transaction, because a commit costs several times as much as a small write. All succeed
 * after the commit, or all fail.
 *
 * @param run runs the transaction, and repeats it while another process holds the lock
 */
export function createSharedCommit(
  database: DatabaseSync,
  run: (work: () => readonly string[]) => Promise<readonly string[]>,
): (work: () => string) => Promise<string> {
  let waiting: Write[] = [];

  async function commit(): Promise<void> {
    const writes = waiting;
    waiting = [];
    const runAll = () => writes.map(({ work }) => work());
    try {
      // SQLite gives a single statement its own transaction.
      const results = await run(
        writes.length === 1 ? runAll : () => inTransaction(database, runAll),
      );
      for (const [index, result] of results.entries()) {
        writes[index]?.resolve(result);
      }
    } catch (error) {
      for (const { reject } of writes) {
        reject(error);
      }
    }
  }

  return (work) =>
    new Promise((resolve, reject) => {
      if (waiting.push({ work, resolve, reject }) === 1) {
        setImmediate(commit);
      }
    });
}
