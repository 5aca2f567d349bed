/**
 * An app with several workers (`WORKERS`): processes that share its port or Unix socket.
 *
 *   supervise-workers (restarts, drain, /ready, /metrics) ─▶ worker-process (one worker: pings,
 *                                                             questions, answers)
 *
 * The supervisor reads the configuration and serves the operations port. It opens no store and
 * accepts no connection. `run-app.ts` decides which of the two a process is. A worker ends when its
 * channel closes (docs/decisions/03-processes.md).
 */
import cluster from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import { removeStaleSocket, withdrawSocket } from '../server/listen.ts';
import type { Operations, serveOperations } from '../server/operations.ts';
import type { Logger } from '../telemetry/logger.ts';
import { combineFamilies, type MetricFamily, withoutGauges } from '../telemetry/metric-families.ts';
import { createMetricsRegistry, type MetricsRegistry } from '../telemetry/metrics-registry.ts';
import { addProcessMetrics } from '../telemetry/process-metrics.ts';
import type { AppConfiguration } from './run-app.ts';
import { startWorker, type WorkerProcess } from './worker-process.ts';

/** A worker that cannot start costs its start once per delay. */
const RESTART_DELAY_MILLISECONDS = 1000;

/** An app with its configuration, before it serves requests. */
export interface StartingApp {
  readonly name: string;
  readonly configuration: AppConfiguration;
  readonly openOperations: (operations: Operations) => ReturnType<typeof serveOperations>;
  readonly logger: Logger;
  /** Whether its workers reload their settings on SIGHUP. */
  readonly reloads: boolean;
}

/**
 * Starts the workers of an app. The first one starts alone: it prepares the store and the database,
 * and if it cannot start, it reports the reason.
 */
export async function superviseWorkers(app: StartingApp) {
  const { name, configuration, openOperations, logger, reloads } = app;
  const { socketPath, workers: count } = configuration;
  const metrics = createMetricsRegistry();
  const restarts = addProcessMetrics(metrics, { app: name, isSupervisor: true });
  const workers = new Set<WorkerProcess>();
  const pooled = createPooledOperations(workers, { count, metrics });
  const operations = await openOperations(pooled);
  if (socketPath !== undefined) {
    await removeStaleSocket(socketPath);
  }
  // The kernel distributes connections. With the other policy, the supervisor would accept each
  // one and pass it on, and a killed worker would leave connections that never close.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  let ending = false;

  function add(): WorkerProcess {
    const worker = startWorker();
    workers.add(worker);
    return worker;
  }

  async function replaceWhenLost(worker: WorkerProcess): Promise<void> {
    const { code, signal, frozen } = await worker.ended;
    workers.delete(worker);
    if (ending) {
      return;
    }
    pooled.forget(worker);
    restarts.value += 1;
    const reason = frozen ? 'it sent no answer and was killed' : 'it ended';
    logger.error({ worker: worker.pid, code, signal }, `restarting a worker: ${reason}`);
    if (code === 1 && !(await worker.started) && workers.size === 0) {
      logger.fatal('no worker is left, and none can start');
      process.exit(1);
    }
    await sleep(RESTART_DELAY_MILLISECONDS, undefined, { ref: false });
    if (!ending) {
      void replaceWhenLost(add());
    }
  }

  const first = add();
  await assertStarted(first);
  const others = Array.from({ length: count - 1 }, add);
  for (const worker of [first, ...others]) {
    void replaceWhenLost(worker);
  }
  await Promise.all(others.map((worker) => worker.started));
  if (reloads) {
    process.on('SIGHUP', () => {
      for (const worker of workers) {
        // Another one reads its settings when it starts.
        if (worker.isRunning() && worker.pid !== undefined) {
          process.kill(worker.pid, 'SIGHUP');
        }
      }
    });
  }
  const port = socketPath ?? first.port();
  logger.info({ port, operationsPort: operations.port, workers: count }, 'listening');
  return {
    async close() {
      ending = true;
      // A second signal, or a drain that takes too long, ends the supervisor early.
      process.once('exit', () => workers.forEach((worker) => void worker.kill()));
      operations.startDraining();
      await drain([...workers], async () => {
        await sleep(configuration.shutdownDelayMilliseconds);
        // The last values, because the workers drain without a channel.
        await pooled.metrics();
        if (socketPath !== undefined) {
          await withdrawSocket(socketPath);
        }
      });
      await operations.close();
    },
  };
}

async function drain(
  workers: readonly WorkerProcess[],
  beforeRelease: () => Promise<void>,
): Promise<void> {
  // `end` kills the workers that are still starting.
  const serving = workers.filter((worker) => worker.state() !== 'starting');
  workers.forEach((worker) => void worker.end());
  await beforeRelease();
  workers.forEach((worker) => void worker.release());
  const ends = await Promise.all(serving.map((worker) => worker.ended));
  const failed = ends.filter(({ code }) => code !== 0);
  if (failed.length > 0) {
    throw new Error(`${failed.length} of ${workers.length} workers did not close in order.`);
  }
}

/** Ends the process if the worker has printed why it cannot start. */
async function assertStarted(worker: WorkerProcess): Promise<void> {
  if (await worker.started) {
    return;
  }
  const { code, signal, frozen } = await worker.ended;
  if (code === 1) {
    process.exit(1);
  }
  if (frozen) {
    throw new Error('The first worker sent no message for 90 s and was killed.');
  }
  throw new Error(
    signal === null
      ? `The first worker exited with code ${code} before it was ready.`
      : `The first worker was killed by ${signal} before it was ready. Check the memory limit.`,
  );
}

/**
 * The operations of an app with several workers: their answers, combined into one.
 *
 * @param options.metrics of the supervisor itself
 */
function createPooledOperations(
  workers: ReadonlySet<WorkerProcess>,
  { count, metrics }: { readonly count: number; readonly metrics: MetricsRegistry },
): Operations & { forget(worker: WorkerProcess): void } {
  const scraped = new Map<WorkerProcess, readonly MetricFamily[]>();
  let ended: readonly MetricFamily[] = [];
  const running = () => [...workers].filter((worker) => worker.isRunning());

  return {
    async readiness() {
      const answers = await Promise.allSettled(
        running().map((worker) => worker.ask('readiness') as ReturnType<Operations['readiness']>),
      );
      const given = answers.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
      // Workers that do not answer accept no connections, so the others decide. The app shows the
      // checks of a worker that is not ready, because its requests fail.
      const shown = given.find(({ ready }) => !ready) ?? given[0];
      const checks = { ...shown?.checks, workers: `${given.length} of ${count}` };
      return { ready: shown?.ready ?? false, checks };
    },
    async metrics() {
      const answered = new Set<WorkerProcess>();
      await Promise.all(
        running().map(async (worker) => {
          const families = await worker.ask('metrics').catch(() => undefined);
          if (families !== undefined && worker.state() !== 'ended') {
            scraped.set(worker, families as readonly MetricFamily[]);
            answered.add(worker);
          }
        }),
      );
      for (const [worker, families] of scraped) {
        // A released worker has no channel. Its last values stay until it ends.
        if (!answered.has(worker) && worker.state() !== 'released') {
          scraped.set(worker, withoutGauges(families));
        }
      }
      return combineFamilies([metrics.families(), ...scraped.values(), ended]);
    },
    document: (path) => Promise.any(running().map((worker) => worker.ask('document', path))),
    /** Keeps the counters of a worker that has ended, because a counter must not decrease. */
    forget(worker) {
      ended = combineFamilies([ended, withoutGauges(scraped.get(worker) ?? [])]);
      scraped.delete(worker);
    },
  };
}
