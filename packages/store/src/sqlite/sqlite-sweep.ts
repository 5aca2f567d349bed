import type { DatabaseSync } from 'node:sqlite';
import { inTransaction } from './sqlite-database.ts';
import { createFreePages } from './sqlite-free-pages.ts';
import { type SqliteStatements, SWEEP_ROWS } from './sqlite-statements.ts';

const PAUSE_MILLISECONDS = 1000;
const PAUSE_WHEN_BEHIND_MILLISECONDS = 20;
/** The store counts as idle after this many sweeps that removed nothing: about a minute. */
const IDLE_SWEEPS = 60;

/**
 * Removes expired rows in small steps, more often while there is a backlog, and then shrinks the
 * file. This only frees space, because reads never return expired rows.
 *
 * @returns a function that stops the sweep
 */
export function startSweeping(
  database: DatabaseSync,
  statements: SqliteStatements,
  now: () => number,
): () => void {
  const freePages = createFreePages(database);
  let next = setTimeout(sweep, PAUSE_MILLISECONDS).unref();
  let emptySweeps = 0;

  function sweep(): void {
    const removed = sweepOnce(database, statements, now());
    emptySweeps = removed?.every((rows) => rows === 0) ? emptySweeps + 1 : 0;
    const behind =
      removed?.some((rows) => rows === SWEEP_ROWS) || freePages.release(emptySweeps >= IDLE_SWEEPS);
    next = setTimeout(sweep, behind ? PAUSE_WHEN_BEHIND_MILLISECONDS : PAUSE_MILLISECONDS).unref();
  }

  return () => clearTimeout(next);
}

/** @returns the number of removed rows of each kind, undefined if the sweep failed */
function sweepOnce(
  database: DatabaseSync,
  statements: SqliteStatements,
  now: number,
): readonly number[] | undefined {
  try {
    return inTransaction(database, () =>
      statements.sweep.map((statement) => Number(statement.run(now).changes)),
    );
  } catch {
    // The file is locked or unavailable. Operations of the store report that, and the sweep
    // retries.
    return undefined;
  }
}
