import { rmSync } from 'node:fs';
import { constants } from 'node:os';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Removes the folder when the work ends, also if a signal ends it. The folder can contain a store
 * in which nothing is revoked yet.
 */
export async function withTemporaryFolder<Result>(
  path: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const remove = () => rmSync(path, { recursive: true, force: true });
  const stop = (signal: NodeJS.Signals) => {
    remove();
    process.exit(128 + constants.signals[signal]);
  };
  for (const signal of signals) {
    process.on(signal, stop);
  }
  try {
    return await work();
  } finally {
    for (const signal of signals) {
      process.off(signal, stop);
    }
    remove();
  }
}
