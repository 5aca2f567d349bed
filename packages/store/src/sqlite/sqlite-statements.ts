import type { DatabaseSync } from 'node:sqlite';

/**
 * One sweep removes at most this many rows of each kind, so that it holds the lock only briefly.
 */
export const SWEEP_ROWS = 256;

export type SqliteStatements = ReturnType<typeof prepareStatements>;

/**
 * Prepares every statement of the store. Where SQLite allows it, a read-modify-write is one
 * statement, because a statement is atomic. A write that returns rows must run with `all()`, which
 * runs the statement to its end. A failed commit is then an error and not a lost write.
 */
export function prepareStatements(database: DatabaseSync) {
  return {
    ...prepareValues(database),
    ...prepareLists(database),
    removeKey: ['entries', 'counters', 'index_members', 'log_lines'].map((table) =>
      database.prepare(`DELETE FROM ${table} WHERE key = ?`),
    ),
    sweep: [
      database.prepare(`DELETE FROM entries WHERE rowid IN
        (SELECT rowid FROM entries WHERE expires_at <= ? LIMIT ${SWEEP_ROWS})`),
      database.prepare(`DELETE FROM counters WHERE key IN
        (SELECT key FROM counters WHERE resets_at <= ? LIMIT ${SWEEP_ROWS})`),
      database.prepare(`DELETE FROM index_members WHERE (key, member) IN
        (SELECT key, member FROM index_members WHERE expires_at <= ? LIMIT ${SWEEP_ROWS})`),
    ],
    ping: database.prepare('SELECT count(*) FROM sqlite_schema'),
  };
}

/** Entries and counters. */
function prepareValues(database: DatabaseSync) {
  return {
    get: database.prepare('SELECT value FROM entries WHERE key = ? AND expires_at > ?'),
    set: database.prepare(`INSERT INTO entries (key, value, expires_at) VALUES (?, ?, ?)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`),
    replace: database.prepare(`UPDATE entries SET value = :value
      WHERE key = :key AND value = :expected AND expires_at > :now`),
    /** Keeps a holder that has not expired, and returns the current holder. */
    claim:
      database.prepare(`INSERT INTO entries (key, value, expires_at) VALUES (:key, :owner, :expiry)
      ON CONFLICT (key) DO UPDATE SET
        value = CASE WHEN expires_at <= :now THEN excluded.value ELSE value END,
        expires_at = CASE WHEN expires_at <= :now THEN excluded.expires_at ELSE expires_at END
      RETURNING value AS holder`),
    increment:
      database.prepare(`INSERT INTO counters (key, count, resets_at) VALUES (:key, :amount, :end)
      ON CONFLICT (key) DO UPDATE SET
        count = CASE WHEN resets_at <= :now THEN :amount ELSE count + :amount END,
        resets_at = CASE WHEN resets_at <= :now THEN excluded.resets_at ELSE resets_at END
      RETURNING count, resets_at AS resetsAt`),
    decrement: database.prepare(
      'UPDATE counters SET count = count - 1 WHERE key = ? AND resets_at > ? AND count > 0',
    ),
    counter: database.prepare(
      'SELECT count, resets_at AS resetsAt FROM counters WHERE key = ? AND resets_at > ?',
    ),
  };
}

/** Indexes and logs. `LIMIT +?`: SQLite would prepare again when a plain parameter is bound. */
function prepareLists(database: DatabaseSync) {
  return {
    addToIndex:
      database.prepare(`INSERT INTO index_members (key, member, expires_at) VALUES (?, ?, ?)
      ON CONFLICT (key, member) DO UPDATE SET expires_at = excluded.expires_at`),
    removeFromIndex: database.prepare('DELETE FROM index_members WHERE key = ? AND member = ?'),
    members: database.prepare(`SELECT member FROM index_members WHERE key = ? AND expires_at > ?
      ORDER BY expires_at, member`),
    /** No text in UTF-8 contains the byte 0xff, so it follows everything that begins with the prefix. */
    membersWithPrefix: database.prepare(`SELECT member FROM index_members
      WHERE key = :key AND member >= max(:prefix, coalesce(:after, ''))
        AND member < CAST(:prefix || X'FF' AS TEXT) AND member IS NOT :after
      ORDER BY member LIMIT +:limit`),
    removeEntry: database.prepare('DELETE FROM log_lines WHERE key = ? AND entry = ?'),
    /** Replacing an equal entry gives it the newest sequence. */
    append: database.prepare(
      'INSERT OR REPLACE INTO log_lines (key, entry, appended_at) VALUES (?, ?, ?)',
    ),
    trim: database.prepare(`DELETE FROM log_lines WHERE key = :key AND sequence <=
      (SELECT sequence FROM log_lines WHERE key = :key ORDER BY sequence DESC LIMIT 1 OFFSET +:capacity)`),
    trimByAge: database.prepare('DELETE FROM log_lines WHERE key = ? AND appended_at <= ?'),
    read: database.prepare(
      'SELECT entry FROM log_lines WHERE key = ? ORDER BY sequence DESC LIMIT +?',
    ),
  };
}

/** A log is trimmed after this part of its capacity was appended. */
const SLACK_DIVISOR = 128;

/**
 * Returns a function that trims a log in the transaction of an append. To find the oldest entry
 * that is kept, SQLite reads all newer ones: 600 µs for the 20,000 entries of a full audit trail.
 * Therefore each process lets a log exceed its capacity by up to 1/128. Logs with a capacity below
 * 128 never exceed it.
 */
export function createLogTrim(statements: SqliteStatements, now: () => number) {
  const untrimmed = new Map<string, number>();
  /** @param maximumAge in milliseconds. Removes entries that are at least this old. 0 keeps them */
  return (key: string, capacity: number, maximumAge: number, appended: number): void => {
    // The first append of a process trims, because processes that append little also have to.
    const excess = (untrimmed.get(key) ?? capacity) + appended;
    const isDue = excess > capacity / SLACK_DIVISOR;
    untrimmed.set(key, isDue ? 0 : excess);
    if (isDue) {
      statements.trim.run({ key, capacity });
    }
    if (maximumAge > 0) {
      statements.trimByAge.run(key, now() - maximumAge);
    }
  };
}
