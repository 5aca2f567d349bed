import cluster from 'node:cluster';
import type { RequestListener } from 'node:http';
import { createOperations, type OperationsOptions, serveOperations } from '../server/operations.ts';
import { explainPortInUse } from '../server/port-in-use.ts';
import { type ListenOptions, serve } from '../server/serve.ts';
import type { Logger } from '../telemetry/logger.ts';
import { answerSupervisor } from '../workers/answer-supervisor.ts';
import { listenInWorker } from '../workers/listen-in-worker.ts';
import type { RunningApp } from './run-process.ts';

/** An app that is ready to serve requests. */
export interface ServedApp extends OperationsOptions {
  readonly listener: RequestListener;
  readonly listen?: Pick<
    ListenOptions,
    'answersContinue' | 'readsAnnouncedBodiesOnly' | 'recordMalformed' | 'upgrades'
  >;
  /** Called first at a shutdown, while requests are still served. */
  readonly stopStarting?: () => void;
  /** Called last, after both servers have closed. */
  readonly release: () => Promise<void>;
}

export interface ServingOptions {
  readonly configuration: {
    readonly host: string;
    readonly port: number;
    readonly socketPath?: string | undefined;
    readonly operationsPort: number;
    readonly shutdownDelayMilliseconds: number;
    readonly maximumConnections: number;
  };
  /** Name of the variable that sets `port`. */
  readonly portVariable: string;
  readonly logger: Logger;
}

/** Serves an app and its operations port, and closes both in the correct order. */
export async function serveApp(app: ServedApp, options: ServingOptions): Promise<RunningApp> {
  const { configuration, portVariable, logger } = options;
  const { host, operationsPort } = configuration;
  const server = await serve(app.listener, {
    host,
    port: configuration.port,
    socketPath: configuration.socketPath,
    logger,
    metrics: app.metrics,
    maximumConnections: configuration.maximumConnections,
    ...app.listen,
    ...(cluster.isWorker
      ? { listen: listenInWorker }
      : { shutdownDelayMilliseconds: configuration.shutdownDelayMilliseconds }),
  }).catch(explainPortInUse(portVariable));
  if (cluster.isWorker) {
    answerSupervisor(createOperations(app), server);
    return {
      async close() {
        app.stopStarting?.();
        await server.close();
        await app.release();
      },
    };
  }
  const operations = await serveOperations(createOperations(app), {
    host,
    port: operationsPort,
  }).catch(explainPortInUse(operationsPortVariables(portVariable)));
  const port = server.port || configuration.socketPath;
  logger.info({ port, operationsPort: operations.port }, 'listening');
  return {
    // The operations port closes after the drain, so that a liveness probe does not interrupt it.
    async close() {
      operations.startDraining();
      app.stopStarting?.();
      await server.close();
      await operations.close();
      await app.release();
    },
  };
}

export function operationsPortVariables(portVariable: string): string {
  return `OPERATIONS_PORT (with npm start: ${portVariable})`;
}
