import cluster from 'node:cluster';
import type { RequestListener } from 'node:http';
import type { serverSettings } from '../configuration/variable-kinds.ts';
import { explainPortInUse } from '../server/listen.ts';
import {
  createOperations,
  type Operations,
  type OperationsOptions,
  serveOperations,
} from '../server/operations.ts';
import { type ServeOptions, serve } from '../server/serve.ts';
import { createLogger, type Logger } from '../telemetry/logger.ts';
import { exitOnUnhandledErrors, type RunningApp, runProcess } from './run-process.ts';
import { type StartingApp, superviseWorkers } from './supervise-workers.ts';
import { answerSupervisor, untilListenerCloses } from './worker-process.ts';

interface App<Configuration extends AppConfiguration> {
  readonly name: string;
  /** Name of the variable that sets the port. */
  readonly portVariable: string;
  /** `ServedApp.reload` exists. */
  readonly reloads?: boolean;
  loadConfiguration(): Configuration;
  /** Connects the app to its store or database. */
  start(configuration: Configuration, logger: Logger): Promise<ServedApp>;
}

export interface AppConfiguration extends ReturnType<typeof serverSettings> {
  readonly warnings: readonly string[];
}

/** An app that is ready to serve requests. */
export interface ServedApp extends OperationsOptions {
  readonly listener: RequestListener;
  readonly listen?: Pick<
    ServeOptions,
    'answersContinue' | 'readsAnnouncedBodiesOnly' | 'recordMalformed' | 'upgrades'
  >;
  /** Of `createReload`. Called on SIGHUP. */
  readonly reload?: () => Promise<void>;
  /** Called first at a shutdown, while requests are still served. */
  readonly stopStarting?: () => void;
  /** Called last, after both servers have closed. */
  readonly release: () => Promise<void>;
}

/** Runs an app from its start to its end, in this process or in several workers. */
export function runApp<Configuration extends AppConfiguration>(
  app: App<Configuration>,
): Promise<void> {
  const { name, portVariable, reloads = false } = app;
  return runProcess(name, async () => {
    const configuration = app.loadConfiguration();
    const logger = startLog(name, configuration);
    const { host, operationsPort: port } = configuration;
    const openOperations = (operations: Operations) =>
      serveOperations(operations, { host, port }).catch(
        explainPortInUse(`OPERATIONS_PORT (with npm start: ${portVariable})`),
      );
    const starting = { name, configuration, openOperations, logger, reloads };
    if (configuration.workers > 1 && cluster.isPrimary) {
      return superviseWorkers(starting);
    }
    return serveApp(await app.start(configuration, logger), portVariable, starting);
  });
}

/** With several workers, only their supervisor logs the warnings of the configuration. */
function startLog(app: string, { logLevel, warnings }: AppConfiguration): Logger {
  const logger = createLogger({ app, level: logLevel });
  exitOnUnhandledErrors(logger);
  for (const warning of cluster.isWorker ? [] : warnings) {
    logger.warn(warning);
  }
  return logger;
}

/** A worker shares the listener of its supervisor, and answers it instead of an operations port. */
async function serveApp(
  app: ServedApp,
  portVariable: string,
  { configuration, openOperations, logger }: StartingApp,
): Promise<RunningApp> {
  const server = await serve(app.listener, {
    ...configuration,
    logger,
    metrics: app.metrics,
    ...app.listen,
    ...(cluster.isWorker && { untilListenerCloses, shutdownDelayMilliseconds: 0 }),
  }).catch(explainPortInUse(portVariable));
  if (app.reload !== undefined) {
    process.on('SIGHUP', app.reload);
  }
  const operations = cluster.isWorker
    ? answerSupervisor(createOperations(app))
    : await openOperations(createOperations(app));
  if (operations !== undefined) {
    const port = configuration.socketPath ?? server.port;
    logger.info({ port, operationsPort: operations.port }, 'listening');
  }
  return {
    // The operations port closes after the drain, so that a liveness probe does not interrupt it.
    async close() {
      operations?.startDraining();
      app.stopStarting?.();
      await server.close();
      await operations?.close();
      await app.release();
    },
  };
}
