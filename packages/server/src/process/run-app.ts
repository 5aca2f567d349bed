import cluster from 'node:cluster';
import type { Logger } from '../telemetry/logger.ts';
import { superviseWorkers } from '../workers/supervise-workers.ts';
import { runProcess } from './run-process.ts';
import {
  operationsPortVariables,
  type ServedApp,
  type ServingOptions,
  serveApp,
} from './serve-app.ts';
import { startLog } from './start-log.ts';

export interface App<Configuration extends AppConfiguration> {
  readonly name: string;
  /** Name of the variable that sets the port. */
  readonly portVariable: string;
  loadConfiguration(): Configuration;
  /** Connects the app to its store or database. */
  start(configuration: Configuration, logger: Logger): Promise<ServedApp>;
  /** Describes why the app did not start. */
  describeFailure(name: string, error: unknown): string;
}

type AppConfiguration = ServingOptions['configuration'] & {
  readonly logLevel: string;
  readonly warnings: readonly string[];
  /** Processes that serve requests. With one, this process serves them itself. */
  readonly workers: number;
};

/** Runs an app from its start to its end, in this process or in several workers. */
export function runApp<Configuration extends AppConfiguration>(
  app: App<Configuration>,
): Promise<void> {
  const { name, portVariable } = app;
  return runProcess(
    async () => {
      const configuration = app.loadConfiguration();
      const logger = startLog(name, configuration);
      if (configuration.workers > 1 && cluster.isPrimary) {
        const variables = operationsPortVariables(portVariable);
        return superviseWorkers({
          name,
          configuration,
          operationsPortVariables: variables,
          logger,
        });
      }
      const served = await app.start(configuration, logger);
      return serveApp(served, { configuration, portVariable, logger });
    },
    (error) => app.describeFailure(name, error),
  );
}
