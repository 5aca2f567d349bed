/**
 * An app with several workers (`WORKERS`): processes that share its port or Unix socket.
 *
 *   supervise-workers ─▶ worker-pool (restarts, drain) ─▶ worker-process (one worker: pings, questions)
 *     ├ shared-socket (its public name)                      ║ worker-messages, over the channel
 *     └ pooled-operations (/ready, /metrics)               answer-supervisor, listen-in-worker (in the worker)
 *
 * The supervisor reads the configuration and serves the operations port. It opens no store and
 * accepts no connection. `process/run-app.ts` decides which of the two a process is. A worker ends
 * when its channel closes (docs/decisions/03-processes.md).
 */
import cluster from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../logging/logger.ts';
import { createMetricsRegistry } from '../metrics/metrics-registry.ts';
import { addProcessMetrics } from '../metrics/process-metrics.ts';
import { type OperationsServer, serveOperations } from '../operations/operations-server.ts';
import { explainPortInUse } from '../server/port-in-use.ts';
import { createPooledOperations, type PooledOperations } from './pooled-operations.ts';
import { createSharedSocket, type SharedSocket } from './shared-socket.ts';
import { startWorkerPool, type WorkerPool } from './worker-pool.ts';
import { startWorker } from './worker-process.ts';

const TOLERATED_IMBALANCE = 1.25;
const TOLERATED_CONNECTIONS = 4;

export interface SupervisedApp {
  readonly name: string;
  readonly configuration: {
    readonly host: string;
    readonly socketPath?: string | undefined;
    readonly operationsPort: number;
    readonly shutdownDelayMilliseconds: number;
    readonly workers: number;
  };
  /** Names of the variables that set the operations port. */
  readonly operationsPortVariables: string;
  readonly logger: Logger;
}

/**
 * Starts the workers of an app. Rejects if the first of them cannot start.
 *
 * @throws StartReportedError if a worker has printed the reason
 */
export async function superviseWorkers(app: SupervisedApp): Promise<{ close(): Promise<void> }> {
  const { name, configuration, logger } = app;
  const { host, socketPath, operationsPort, workers: count } = configuration;
  const metrics = createMetricsRegistry();
  const { countRestart } = addProcessMetrics(metrics, { app: name, isSupervisor: true });
  let pool: WorkerPool | undefined;
  const running = () => pool?.running() ?? [];
  const pooled = createPooledOperations({ count, running, metrics });
  const operations = await serveOperations(pooled, { host, port: operationsPort }).catch(
    explainPortInUse(app.operationsPortVariables),
  );
  const socket = socketPath === undefined ? undefined : await createSharedSocket(socketPath);
  // The kernel distributes connections. With the other policy, the supervisor would accept each
  // one and pass it on, and a killed worker would leave connections that never close.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  let port = 0;
  pool = await startWorkerPool({
    count,
    start: () =>
      startWorker({
        async onReady(workerPort) {
          port = workerPort;
          await socket?.publish();
        },
        connectionLimit: () => fairShare(running().map((worker) => worker.connections())),
      }),
    onLost(worker, { code, signal, frozen }, delayMilliseconds) {
      pooled.forget(worker);
      countRestart();
      const reason = frozen ? 'it sent no answer and was killed' : 'it ended';
      const details = { worker: worker.pid, code, signal, delayMilliseconds };
      logger.error(details, `restarting a worker: ${reason}`);
    },
    onNoneStarts() {
      logger.fatal('no worker is left, and none can start');
      process.exit(1);
    },
  });
  const started = { port: socketPath ?? port, operationsPort: operations.port, workers: count };
  logger.info(started, 'listening');
  return { close: () => close(app, pool, { socket, operations, pooled }) };
}

/**
 * The kernel gives a connection to any idle worker, and connections that stay open can leave one
 * worker with most of the load. Such a worker ends some of them, so that the others accept them.
 */
function fairShare(connections: readonly number[]): number | undefined {
  if (connections.length < 2) {
    return undefined;
  }
  const mean = connections.reduce((sum, each) => sum + each, 0) / connections.length;
  return Math.ceil(mean * TOLERATED_IMBALANCE) + TOLERATED_CONNECTIONS;
}

async function close(
  { configuration }: SupervisedApp,
  pool: WorkerPool,
  {
    socket,
    operations,
    pooled,
  }: {
    readonly socket: SharedSocket | undefined;
    readonly operations: OperationsServer;
    readonly pooled: PooledOperations;
  },
): Promise<void> {
  // A second signal, or a drain that takes too long, ends the supervisor early.
  process.once('exit', pool.kill);
  operations.startDraining();
  await pool.end(async () => {
    await sleep(configuration.shutdownDelayMilliseconds);
    // The last values, because the workers drain without a channel.
    await pooled.metrics();
    await socket?.withdraw();
  });
  await operations.close();
}
