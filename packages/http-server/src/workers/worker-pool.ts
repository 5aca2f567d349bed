import { setTimeout as sleep } from 'node:timers/promises';
import { StartReportedError } from './start-reported-error.ts';
import type { WorkerEnd, WorkerProcess } from './worker-process.ts';

const FIRST_DELAY_MILLISECONDS = 100;
const LONGEST_DELAY_MILLISECONDS = 10_000;
/** A worker that lived this long is restarted after the first delay again. */
const STABLE_AFTER_MILLISECONDS = 60_000;

export interface WorkerPool {
  /** The workers that share the listener and answer. */
  running(): readonly WorkerProcess[];
  /** Drains all workers. Resolves after the last one has ended. */
  end(beforeRelease: () => Promise<void>): Promise<void>;
  /** Ends the remaining workers at once. */
  kill(): void;
}

export interface WorkerPoolOptions {
  readonly count: number;
  readonly start: () => WorkerProcess;
  /** Called when a worker ended unexpectedly, before the delay until the next one starts. */
  readonly onLost: (worker: WorkerProcess, end: WorkerEnd, delayMilliseconds: number) => void;
  /** Called when no worker is left and the next one cannot start. */
  readonly onNoneStarts: () => void;
}

/**
 * Keeps a number of workers running. The first one starts alone: it prepares the store and the
 * database, and if it cannot start, it reports the reason.
 *
 * @throws StartReportedError if the first worker cannot start
 */
export async function startWorkerPool(options: WorkerPoolOptions): Promise<WorkerPool> {
  const { count, start, onLost, onNoneStarts } = options;
  const workers = new Set<WorkerProcess>();
  let ending = false;

  const running = () => [...workers].filter((worker) => worker.state() === 'running');

  function add(): WorkerProcess {
    const worker = start();
    workers.add(worker);
    return worker;
  }

  async function keepRunning(first: WorkerProcess): Promise<void> {
    for (let worker = first, shortLives = 0; ; worker = add()) {
      const end = await worker.ended;
      workers.delete(worker);
      if (ending) {
        return;
      }
      shortLives = end.livedMilliseconds < STABLE_AFTER_MILLISECONDS ? shortLives + 1 : 1;
      const delay = delayAfter(shortLives);
      onLost(worker, end, delay);
      if (!(await worker.started) && workers.size === 0) {
        onNoneStarts();
        return;
      }
      await sleep(delay, undefined, { ref: false });
      if (ending) {
        return;
      }
    }
  }

  const first = add();
  if (!(await first.started)) {
    throw new StartReportedError();
  }
  const others = Array.from({ length: count - 1 }, add);
  for (const worker of [first, ...others]) {
    void keepRunning(worker);
  }
  await Promise.all(others.map((worker) => worker.started));
  return {
    running,
    async end(beforeRelease) {
      ending = true;
      const ends = [...workers].map((worker) => worker.ended);
      for (const worker of workers) {
        worker.end();
      }
      await beforeRelease();
      for (const worker of workers) {
        worker.release();
      }
      const failed = (await Promise.all(ends)).filter(({ code }) => code === 1);
      if (failed.length > 0) {
        throw new Error(`${failed.length} workers did not close in order.`);
      }
    },
    kill() {
      for (const worker of workers) {
        worker.kill();
      }
    },
  };
}

/** Doubles with each worker that ends soon after its start, so that a crash loop stays cheap. */
function delayAfter(shortLives: number): number {
  return Math.min(FIRST_DELAY_MILLISECONDS * 2 ** (shortLives - 1), LONGEST_DELAY_MILLISECONDS);
}
