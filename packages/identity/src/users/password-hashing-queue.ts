import { setTimeout as sleep } from 'node:timers/promises';

/** The queue is full. The caller should try again later. */
export class PasswordHashingBusyError extends Error {
  override readonly name = 'PasswordHashingBusyError';
  override readonly message = 'Too many passwords wait to be hashed.';
}

/**
 * `pause` takes the duration of one of the last runs at random, because an average would be
 * visible.
 */
const REMEMBERED_RUNS = 32;

/**
 * Hashing a password takes 30 ms of a core and 19 MiB, so a flood of sign-ins exhausts these first.
 * At most `concurrency` hashes run and at most `waiting` wait at a time.
 */
export function createPasswordHashingQueue(limits: {
  readonly concurrency: number;
  readonly waiting: number;
}) {
  const waiting: (() => void)[] = [];
  const durations: number[] = [];
  let running = 0;
  let runs = 0;
  let refused = 0;

  const assertRoom = () => {
    if (running >= limits.concurrency && waiting.length >= limits.waiting) {
      refused += 1;
      throw new PasswordHashingBusyError();
    }
  };

  async function turn(): Promise<void> {
    if (running < limits.concurrency) {
      running += 1;
      return;
    }
    // A run that ends gives its place to the next one in the queue, not to a new one.
    await new Promise<void>((resolve) => waiting.push(resolve));
  }

  function end(): void {
    const next = waiting.shift();
    if (next === undefined) {
      running -= 1;
    } else {
      next();
    }
  }

  return {
    /** @throws PasswordHashingBusyError immediately if the queue is full */
    async run<Result>(work: () => Promise<Result>): Promise<Result> {
      assertRoom();
      const started = performance.now();
      await turn();
      try {
        return await work();
      } finally {
        durations[runs % REMEMBERED_RUNS] = performance.now() - started;
        runs += 1;
        end();
      }
    },
    /**
     * Waits as long as a recent run took. Returns false if none was measured yet.
     *
     * @throws PasswordHashingBusyError if the queue is full
     */
    async pause(): Promise<boolean> {
      assertRoom();
      const duration = durations[Math.floor(Math.random() * durations.length)];
      if (duration !== undefined) {
        await sleep(duration);
      }
      return duration !== undefined;
    },
    /** The current load, and the number of rejected runs since the process started. */
    load: () => ({ running, waiting: waiting.length, refused }),
  };
}
