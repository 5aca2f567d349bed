import { setTimeout as sleep } from 'node:timers/promises';

const RETRY_MILLISECONDS = 250;

export interface RetriedStart {
  /** A readiness check that rejects until an attempt succeeds. */
  ready(): Promise<void>;
  /** Stops further attempts. */
  close(): void;
}

/**
 * Runs a step of the start that needs the store. If the store is unavailable, the process keeps
 * listening and repeats the step until it succeeds.
 *
 * @param isTransient whether to repeat a failed attempt. Other errors are thrown: by this function
 *   at the first attempt, and later as an uncaught exception, which ends the process
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
    // Thrown outside the promise, so that it ends the process with any setting for rejections.
    // A closing process has already closed the store, so this error is expected.
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
