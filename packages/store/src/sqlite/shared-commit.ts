import type { DatabaseSync } from 'node:sqlite';
import { inTransaction } from './sqlite-database.ts';

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
