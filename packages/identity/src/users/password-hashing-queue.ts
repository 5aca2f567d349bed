import { setTimeout as sleep } from 'node:timers/promises';

/** Too many wait already: the request is told to come back, instead of making everybody wait longer. */
export class PasswordHashingBusyError extends Error {
  constructor() {
    super('Too many passwords are being hashed.');
    this.name = 'PasswordHashingBusyError';
  }
}

/**
 * Hashing a password takes 30 ms of a whole core and 19 MiB, so it is what a flood of sign-ins would exhaust
 * first. At most `concurrency` run at a time, at most `waiting` wait.
 */
export interface PasswordHashingQueue {
  /** @throws PasswordHashingBusyError at once when the queue is full */
  run<Result>(work: () => Promise<Result>): Promise<Result>;
  /**
   * Waits as long as a run took of late, without doing one. False when none was measured yet.
   *
   * @throws PasswordHashingBusyError when a run would
   */
  pause(): Promise<boolean>;
  load(): PasswordHashingLoad;
}

/** What the queue does now, and how often it refused since the process started. */
export interface PasswordHashingLoad {
  readonly running: number;
  readonly waiting: number;
  readonly refused: number;
}

/** Of these many runs the durations are remembered: one of them at random has their spread, an average has not. */
const REMEMBERED_RUNS = 32;

export function createPasswordHashingQueue(limits: {
  readonly concurrency: number;
  readonly waiting: number;
}): PasswordHashingQueue {
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
    // Whoever ends hands its place over, so that nobody who comes between can take it.
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
    async run(work) {
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
    async pause() {
      assertRoom();
      const duration = durations[Math.floor(Math.random() * durations.length)];
      if (duration !== undefined) {
        await sleep(duration);
      }
      return duration !== undefined;
    },
    load: () => ({ running, waiting: waiting.length, refused }),
  };
}
