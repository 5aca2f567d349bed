import type { RequestListener } from 'node:http';
import type { Logger } from '../logging/logger.ts';
import type { MetricsRegistry } from '../metrics/metrics-registry.ts';
import { type OperationsOptions, serveOperations } from '../operations/operations-server.ts';
import { explainPortInUse } from '../server/port-in-use.ts';
import { type ListenOptions, serve } from '../server/serve.ts';
import type { RunningApp } from './run-process.ts';

export interface ServedApp extends Pick<OperationsOptions, 'checks' | 'peers' | 'documents'> {
  readonly listener: RequestListener;
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
  readonly metrics: MetricsRegistry;
  readonly listen?: Pick<
    ListenOptions,
    'answersContinue' | 'readsAnnouncedBodiesOnly' | 'recordMalformed' | 'upgrades'
  >;
  /** Called first at a shutdown, while requests are still served. */
  readonly stopStarting?: () => void;
  /** Called last, after both servers have closed. */
  readonly release: () => Promise<void>;
}

/** Serves an app and its operations port, and closes both in the correct order. */
export async function serveApp(app: ServedApp): Promise<RunningApp> {
  const { configuration, portVariable, logger, metrics, checks, peers, documents } = app;
  const { host, port, socketPath, operationsPort } = configuration;
  const server = await serve(app.listener, {
    host,
    port,
    socketPath,
    logger,
    metrics,
    shutdownDelayMilliseconds: configuration.shutdownDelayMilliseconds,
    maximumConnections: configuration.maximumConnections,
    ...app.listen,
  }).catch(explainPortInUse(portVariable));
  const operations = await serveOperations({
    host,
    port: operationsPort,
    metrics,
    checks,
    ...(peers && { peers }),
    ...(documents && { documents }),
  }).catch(explainPortInUse(`OPERATIONS_PORT (with npm start: ${portVariable})`));
  logger.info({ port: server.port || socketPath, operationsPort: operations.port }, 'listening');
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
