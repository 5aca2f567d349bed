import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { OPERATION_DEADLINE_MILLISECONDS } from '../port/limits.ts';
import { StoreFullError, StoreUnavailableError } from '../port/store.ts';
import { isBusy } from './sqlite-database.ts';
import { isDiskFull, sqliteOutageReason } from './sqlite-outage-reason.ts';

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
      if (!isBusy(error) || paused > OPERATION_DEADLINE_MILLISECONDS) {
        const Failure = isDiskFull(error) ? StoreFullError : StoreUnavailableError;
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
