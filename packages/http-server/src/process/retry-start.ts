import { setTimeout as sleep } from 'node:timers/promises';

const RETRY_MILLISECONDS = 250;

export interface RetriedStart {
  /** Rejects until an attempt succeeded: a readiness check. */
  ready(): Promise<void>;
  /** No further attempts. */
  close(): void;
}

/**
 * Runs a step of the start that needs the store. When the store is unavailable, the process keeps
 * listening and the step is repeated until it succeeds.
 *
 * @param isTransient whether a failed attempt is repeated. Any other error is thrown: by this function at
 *   the first attempt, as an uncaught exception, which ends the process, at a later one
 */
export async function retryStart(
  step: () => Promise<void>,
  isTransient: (error: unknown) => boolean,
): Promise<RetriedStart> {
  let isDone = false;
  let isClosed = false;

  async function attempt(): Promise<void> {
    try {
      await step();
      isDone = true;
    } catch (error) {
      if (!isTransient(error)) {
        throw error;
      }
    }
  }

  async function keepTrying(): Promise<void> {
    while (!isDone && !isClosed) {
      await sleep(RETRY_MILLISECONDS, undefined, { ref: false });
      if (!isClosed) {
        await attempt();
      }
    }
  }

  await attempt();
  keepTrying().catch((error: unknown) => {
    // Thrown outside the promise, so that it ends the process however unhandled rejections are treated.
    // A process that is closing has closed the store during the attempt: that is no failure.
    if (!isClosed) {
      process.nextTick(() => {
        throw error;
      });
    }
  });
  return {
    async ready() {
      if (!isDone) {
        throw new Error('The start is not complete yet.');
      }
    },
    close() {
      isClosed = true;
    },
  };
}
