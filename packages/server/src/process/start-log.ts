import cluster from 'node:cluster';
import { createLogger, type Logger } from '../telemetry/logger.ts';
import { exitOnUnhandledErrors } from './run-process.ts';

/**
 * Creates the log of a process, logs unhandled errors, and logs the warnings of the configuration.
 * With several workers, only their supervisor logs the warnings.
 */
export function startLog(
  app: string,
  configuration: { readonly logLevel: string; readonly warnings: readonly string[] },
): Logger {
  const logger = createLogger({
    app,
    level: configuration.logLevel,
    pretty: process.stdout.isTTY === true,
    buffered: true,
    sharedOutput: cluster.isWorker,
  });
  exitOnUnhandledErrors(logger);
  for (const warning of cluster.isWorker ? [] : configuration.warnings) {
    logger.warn(warning);
  }
  return logger;
}
