import { ConfigurationError } from '@gatehouse/configuration';
import {
  createLogger,
  exitOnUnhandledErrors,
  type RunningApp,
  runProcess,
} from '@gatehouse/http-server';
import { readConfiguration } from './config.ts';
import { startDeviceService } from './device-service.ts';

await runProcess(start, describeStartFailure);

async function start(): Promise<RunningApp> {
  const configuration = readConfiguration(process.env);
  const logger = createLogger({
    app: 'device-service',
    level: configuration.logLevel,
    pretty: process.stdout.isTTY === true,
  });
  exitOnUnhandledErrors(logger);
  for (const warning of configuration.warnings) {
    logger.warn(warning);
  }
  return startDeviceService(configuration, logger);
}

function describeStartFailure(error: unknown): string {
  if (error instanceof ConfigurationError) {
    const lines = error.problems.map(({ name, message }) => `  ${name}: ${message}`);
    return ['device-service did not start, because of its configuration:', ...lines].join('\n');
  }
  const { message, cause } = error instanceof Error ? error : new Error('unknown reason');
  const reason = cause instanceof Error ? `${message} (${cause.message})` : message;
  return `device-service did not start: ${reason}`;
}
