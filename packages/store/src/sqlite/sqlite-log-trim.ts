import type { SqliteStatements } from './sqlite-statements.ts';

export interface TrimmedLog {
  readonly key: string;
  readonly capacity: number;
  /** Milliseconds. Removes entries that are at least this old. 0 keeps them. */
  readonly maximumAge: number;
}

/** A log is trimmed after this part of its capacity was appended. */
const SLACK_DIVISOR = 128;

/**
 * Returns a function that trims a log in the transaction of an append. To find the oldest entry
 * that is kept, SQLite reads all newer ones: 600 µs for the 20,000 entries of a full audit trail.
 * Therefore each process lets a log exceed its capacity by up to 1/128. Logs with a capacity below
 * 128 never exceed it.
 */
export function createLogTrim(
  statements: Pick<SqliteStatements, 'trim' | 'trimByAge'>,
  now: () => number,
): (log: TrimmedLog, appended: number) => void {
  const untrimmed = new Map<string, number>();
  return ({ key, capacity, maximumAge }, appended) => {
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
