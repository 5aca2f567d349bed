import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import {
  OPERATION_DEADLINE_MILLISECONDS,
  StoreFullError,
  StoreUnavailableError,
} from '../store.ts';

/**
 * Applies only while the file is opened. Blocking is harmless then, and several processes may
 * create the file at the same time.
 */
const OPENING_BUSY_TIMEOUT_MILLISECONDS = 400;
const OPENING_ATTEMPTS = 10;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS entries (
    key TEXT PRIMARY KEY, value TEXT NOT NULL, expires_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS entries_by_expiry ON entries (expires_at);

  CREATE TABLE IF NOT EXISTS counters (
    key TEXT PRIMARY KEY, count INTEGER NOT NULL, resets_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS counters_by_end ON counters (resets_at);

  CREATE TABLE IF NOT EXISTS index_members (
    key TEXT NOT NULL, member TEXT NOT NULL, expires_at INTEGER NOT NULL, PRIMARY KEY (key, member)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS index_members_by_expiry ON index_members (expires_at);

  DROP TABLE IF EXISTS log_entries;
  CREATE TABLE IF NOT EXISTS log_lines (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, entry TEXT NOT NULL, appended_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS log_lines_by_key ON log_lines (key, sequence);
  CREATE INDEX IF NOT EXISTS log_lines_by_age ON log_lines (key, appended_at);
  CREATE UNIQUE INDEX IF NOT EXISTS log_lines_by_entry ON log_lines (key, entry);
`;

/**
 * Opens the file that the processes of one machine share, and creates it so that only its owner can
 * read it. With WAL, readers continue while one process writes. `synchronous = NORMAL` does not
 * sync at every commit. A commit survives a killed process, because the kernel has it. A power
 * failure may lose the last commits, but never corrupts the file. FULL would reduce the rate from
 * 53,000 to 7,800 commits per second.
 */
export function openSqliteDatabase(path: string): DatabaseSync {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, 'a', 0o600));
  for (let attempt = 1; ; attempt += 1) {
    const database = new DatabaseSync(path, { timeout: OPENING_BUSY_TIMEOUT_MILLISECONDS });
    try {
      // Only a new file can shrink later. It has to be told before anything is written.
      database.exec(
        'PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;',
      );
      inTransaction(database, () => database.exec(SCHEMA));
      // From here on, nothing blocks the event loop. An operation that finds a lock waits and
      // retries.
      database.exec('PRAGMA busy_timeout = 0');
      return database;
    } catch (error) {
      database.close();
      // If two processes switch a new file to WAL at the same time, SQLite reports "busy"
      // immediately.
      if (codeOf(error) !== SQLITE_BUSY || attempt === OPENING_ATTEMPTS) {
        throw error;
      }
    }
  }
}

/**
 * Takes the write lock before reading, so that no other process writes between a read and a write.
 */
export function inTransaction<Result>(database: DatabaseSync, work: () => Result): Result {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    if (database.isTransaction) {
      database.exec('ROLLBACK');
    }
    throw error;
  }
}

const BUSY_MILLISECONDS = 5_000;

/**
 * Copies a database, as of one moment, into a new file that only its owner can read, while other
 * processes use it.
 */
export function copySqliteFile(from: string, to: string): void {
  // VACUUM INTO fills an empty file. Created here, so that no other user can open it.
  closeSync(openSync(to, 'wx', 0o600));
  const database = new DatabaseSync(from, { readOnly: true, timeout: BUSY_MILLISECONDS });
  try {
    database.prepare('VACUUM INTO ?').run(to);
  } finally {
    database.close();
  }
  const descriptor = openSync(to, 'r+');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

/** A lock usually lasts microseconds. Retry without pauses for this long, then with pauses. */
const EAGER_RETRY_MILLISECONDS = 2;
const LONGEST_PAUSE_MILLISECONDS = 8;

/**
 * Runs the work, and retries until the deadline while another process holds the lock. It waits
 * outside SQLite, so that the process can serve other requests and every waiting operation keeps
 * its deadline. Adds up its pauses instead of the time, as for Redis (withinDeadline): while this
 * process waits for the processor, others can release the lock and take it again.
 *
 * @throws StoreUnavailableError
 */
export async function runWhenUnlocked<Result>(
  operation: string,
  work: () => Result,
): Promise<Result> {
  const started = performance.now();
  let paused = 0;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (codeOf(error) !== SQLITE_BUSY || paused > OPERATION_DEADLINE_MILLISECONDS) {
        const Failure = codeOf(error) === SQLITE_FULL ? StoreFullError : StoreUnavailableError;
        throw new Failure(operation, error, sqliteOutageReason(error));
      }
      if (performance.now() - started < EAGER_RETRY_MILLISECONDS) {
        await setImmediate();
      } else {
        // A timer needs at least a millisecond.
        const pause = 1 + Math.random() * LONGEST_PAUSE_MILLISECONDS;
        paused += pause;
        await sleep(pause);
      }
    }
  }
}

const SQLITE_BUSY = 5;
const SQLITE_READONLY = 8;
const SQLITE_FULL = 13;

const adviceByCode: Readonly<Record<number, string>> = {
  [SQLITE_BUSY]: 'Another process holds the lock for too long: find it.',
  [SQLITE_READONLY]: 'Make the file of the store, its folder and its file system writable.',
  [SQLITE_FULL]: 'Free space on the file system of the store.',
};

/** System errors from opening the file before SQLite opens it. */
const refusedToOpen = ['EROFS', 'EACCES', 'EPERM'];

/** SQLite's error text, which is fixed and never quotes a value, and what to do about it. */
export function sqliteOutageReason(error: unknown): string | undefined {
  const { code: systemCode } = Object(error) as { code?: unknown };
  if (typeof systemCode === 'string' && refusedToOpen.includes(systemCode)) {
    return `The file cannot be opened (${systemCode}). ${adviceByCode[SQLITE_READONLY]}`;
  }
  const code = codeOf(error);
  const { errstr } = Object(error) as { errstr?: unknown };
  if (code === undefined || typeof errstr !== 'string') {
    return undefined;
  }
  const advice = adviceByCode[code];
  return `SQLite reports "${errstr}".${advice === undefined ? '' : ` ${advice}`}`;
}

/** The primary result code, which is the low byte. */
function codeOf(error: unknown): number | undefined {
  const { errcode } = Object(error) as { errcode?: unknown };
  return typeof errcode === 'number' ? errcode & 0xff : undefined;
}
