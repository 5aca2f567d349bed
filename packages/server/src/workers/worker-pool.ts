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
 * @throws StartReportedError if the first worker has printed why it cannot start
 */
export async function startWorkerPool(options: WorkerPoolOptions): Promise<WorkerPool> {
  const { count, start, onLost, onNoneStarts } = options;
  const workers = new Set<WorkerProcess>();
  /** Restarts that wait for their delay. Those after a reported start failure do not count. */
  let pendingRestarts = 0;
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
      const cannotStart = end.code === 1 && !(await worker.started);
      if (cannotStart && workers.size === 0 && pendingRestarts === 0) {
        onNoneStarts();
        return;
      }
      pendingRestarts += cannotStart ? 0 : 1;
      await sleep(delay, undefined, { ref: false });
      pendingRestarts -= cannotStart ? 0 : 1;
      if (ending) {
        return;
      }
    }
  }

  const first = add();
  await assertStarted(first);
  const others = Array.from({ length: count - 1 }, add);
  for (const worker of [first, ...others]) {
    void keepRunning(worker);
  }
  await Promise.all(others.map((worker) => worker.started));
  return {
    running,
    async end(beforeRelease) {
      ending = true;
      // `end` kills the workers that are still starting.
      const serving = [...workers].filter((worker) => worker.state() !== 'starting');
      for (const worker of workers) {
        worker.end();
      }
      await beforeRelease();
      for (const worker of workers) {
        worker.release();
      }
      const ends = await Promise.all(serving.map((worker) => worker.ended));
      const failed = ends.filter(({ code }) => code !== 0);
      if (failed.length > 0) {
        throw new Error(`${failed.length} of ${count} workers did not close in order.`);
      }
    },
    kill() {
      for (const worker of workers) {
        worker.kill();
      }
    },
  };
}

/** @throws StartReportedError if the worker has printed why it cannot start */
async function assertStarted(worker: WorkerProcess): Promise<void> {
  const isStarted = await worker.started.catch(async (error: unknown) => {
    worker.kill();
    await worker.ended;
    throw error;
  });
  if (isStarted) {
    return;
  }
  const end = await worker.ended;
  throw end.code === 1 ? new StartReportedError() : new Error(describeUnreportedEnd(end));
}

function describeUnreportedEnd({ code, signal, frozen }: WorkerEnd): string {
  if (frozen) {
    return 'The first worker sent no message for 90 s and was killed.';
  }
  if (signal === null) {
    return `The first worker exited with code ${code} before it was ready.`;
  }
  return `The first worker was killed by ${signal} before it was ready. Check the memory limit.`;
}

/** Doubles with each worker that ends soon after its start, so that a crash loop stays cheap. */
function delayAfter(shortLives: number): number {
  return Math.min(FIRST_DELAY_MILLISECONDS * 2 ** (shortLives - 1), LONGEST_DELAY_MILLISECONDS);
}
