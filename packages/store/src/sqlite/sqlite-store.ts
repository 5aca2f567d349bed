import type { DatabaseSync } from 'node:sqlite';
import { createTurnBatch } from '../end-of-turn.ts';
import {
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

const PING_KEY = 'ready';
const PING_SECONDS = 60;

/** @throws StoreUnavailableError if the file cannot be opened or created */
export function createSqliteStore(path: string, now: () => number): Store {
  try {
    return new SqliteStore(path, openSqliteDatabase(path), now);
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
  readonly #claims: ReturnType<typeof createClaims>;
  readonly #trimLog: ReturnType<typeof createLogTrim>;
  readonly #stopSweeping: () => void;

  constructor(path: string, database: DatabaseSync, now: () => number) {
    this.#path = path;
    this.#database = database;
    this.#statements = prepareStatements(database);
    this.#now = now;
    this.#trimLog = createLogTrim(this.#statements, now);
    this.#isReserveReached = createReserve(path);
    this.#claims = createClaims(database);
    this.#stopSweeping = startSweeping(database, this.#statements, now);
  }

  readonly get: Store['get'] = (key) =>
    runWhenUnlocked('get', () => {
      const row = this.#statements.get.get(key, this.#now());
      return row === undefined ? undefined : String(row.value);
    });

  readonly set: Store['set'] = async (key, value, ttlSeconds, options) => {
    const expiry = this.#expiryIn(ttlSeconds);
    this.#assertRoom('set', options);
    await runWhenUnlocked('set', () => this.#statements.set.run(key, value, expiry()));
  };

  readonly claim: Store['claim'] = async (key, owner, ttlSeconds, options) => {
    const expiry = this.#expiryIn(ttlSeconds);
    this.#assertRoom('claim', options);
    const work = () => {
      const words = { key, owner, expiry: expiry(), now: this.#now() };
      return String(this.#statements.claim.all(words)[0]?.holder);
    };
    // On a full disk, a revocation must not fail together with other writes.
    return options?.revokes === true ? runWhenUnlocked('claim', work) : this.#claims.add(work);
  };

  readonly replace: Store['replace'] = async (key, expected, value) => {
    this.#assertRoom('replace');
    return runWhenUnlocked('replace', () => {
      const now = this.#now();
      return Number(this.#statements.replace.run({ key, expected, value, now }).changes) > 0;
    });
  };

  readonly delete: Store['delete'] = (keys) =>
    this.#write('delete', () => {
      for (const key of keys) {
        for (const statement of this.#statements.removeKey) {
          statement.run(key);
        }
      }
    });

  readonly increment: Store['increment'] = async (key, windowSeconds, amount = 1) => {
    const window = lifetimeMilliseconds(windowSeconds);
    if (amount !== 0) {
      assertPositiveInteger('An amount', amount);
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
  };

  readonly decrement: Store['decrement'] = async (key) => {
    await runWhenUnlocked('decrement', () => this.#statements.decrement.run(key, this.#now()));
  };

  readonly addToIndex: Store['addToIndex'] = async (key, member, expiresAt) => {
    assertEpochMilliseconds(expiresAt);
    this.#assertRoom('addToIndex');
    const words = [key, member, expiresAt] as const;
    await runWhenUnlocked('addToIndex', () => this.#statements.addToIndex.run(...words));
  };

  readonly removeFromIndex: Store['removeFromIndex'] = async (...words) => {
    await runWhenUnlocked('removeFromIndex', () => this.#statements.removeFromIndex.run(...words));
  };

  readonly members: Store['members'] = (key) =>
    runWhenUnlocked('members', () =>
      this.#statements.members.all(key, this.#now()).map((row) => String(row.member)),
    );

  readonly membersWithPrefix: Store['membersWithPrefix'] = async (key, prefix, limit, after) => {
    assertPositiveInteger('A limit', limit);
    return runWhenUnlocked('membersWithPrefix', () =>
      this.#statements.membersWithPrefix
        .all({ key, prefix, limit, after: after ?? null })
        .map((row) => String(row.member)),
    );
  };

  readonly append: Store['append'] = async (key, entries, capacity, options = {}) => {
    const { replaces, maximumAgeSeconds } = options;
    assertPositiveInteger('A capacity', capacity);
    const maximumAge =
      maximumAgeSeconds === undefined ? 0 : lifetimeMilliseconds(maximumAgeSeconds);
    this.#assertRoom('append', options);
    await this.#write('append', () => {
      if (replaces !== undefined) {
        this.#statements.removeEntry.run(key, replaces);
      }
      for (const entry of entries) {
        this.#statements.append.run(key, entry, this.#now());
      }
      this.#trimLog(key, capacity, maximumAge, entries.length);
    });
  };

  readonly read: Store['read'] = async (key, limit) => {
    assertPositiveInteger('A limit', limit);
    return runWhenUnlocked('read', () =>
      this.#statements.read.all(key, limit).map((row) => String(row.entry)),
    );
  };

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

  /** Checks the lifetime now, and returns the expiry at the time of the write. */
  #expiryIn(ttlSeconds: number | undefined): () => number {
    const lifetime = ttlSeconds === undefined ? undefined : lifetimeMilliseconds(ttlSeconds);
    return () => (lifetime === undefined ? NEVER_EXPIRES : this.#now() + lifetime);
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

/**
 * Runs the claims of one turn of the event loop in one transaction, because a commit costs several
 * times as much as a small write.
 */
function createClaims(database: DatabaseSync) {
  return createTurnBatch((claims: readonly (() => string)[]) => {
    const runAll = () => claims.map((claim) => claim());
    // SQLite gives a single statement its own transaction.
    const isSingle = claims.length === 1;
    return runWhenUnlocked('claim', isSingle ? runAll : () => inTransaction(database, runAll));
  });
}
