import type { DatabaseSync } from 'node:sqlite';
import { inTransaction } from './sqlite-database.ts';
import { createFreePages } from './sqlite-free-pages.ts';
import { type SqliteStatements, SWEEP_ROWS } from './sqlite-statements.ts';

const PAUSE_MILLISECONDS = 1000;
const PAUSE_WHEN_BEHIND_MILLISECONDS = 20;

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

  function sweep(): void {
    const behind = sweepOnce(database, statements, now()) || freePages.release();
    next = setTimeout(sweep, behind ? PAUSE_WHEN_BEHIND_MILLISECONDS : PAUSE_MILLISECONDS).unref();
  }

  return () => clearTimeout(next);
}

/** @returns whether there may be more to remove */
function sweepOnce(database: DatabaseSync, statements: SqliteStatements, now: number): boolean {
  try {
    const removed = inTransaction(database, () =>
      statements.sweep.map((statement) => Number(statement.run(now).changes)),
    );
    return removed.some((rows) => rows === SWEEP_ROWS);
  } catch {
    // The file is locked or unavailable. Operations of the store report that, and the sweep
    // retries.
    return false;
  }
}
