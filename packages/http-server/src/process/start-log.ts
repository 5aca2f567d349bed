import { createLogger, type Logger } from '../logging/logger.ts';
import { exitOnUnhandledErrors } from './run-process.ts';

/**
 * Creates the log of a process, logs unhandled errors, and logs the warnings of the configuration.
 */
export function startLog(
  app: string,
  configuration: { readonly logLevel: string; readonly warnings: readonly string[] },
  options: { readonly buffered: boolean },
): Logger {
  const logger = createLogger({
    app,
    level: configuration.logLevel,
    pretty: process.stdout.isTTY === true,
    buffered: options.buffered,
  });
  exitOnUnhandledErrors(logger);
  for (const warning of configuration.warnings) {
    logger.warn(warning);
  }
  return logger;
}
