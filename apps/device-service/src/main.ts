import { randomUUID } from 'node:crypto';
import { ConfigurationError } from '@gatehouse/configuration';
import {
  createLogger,
  exitOnUnhandledErrors,
  type RunningApp,
  runProcess,
  serve,
  serveOperations,
} from '@gatehouse/http-server';
import { createApp } from './app.ts';
import { readConfiguration } from './config.ts';
import { openDatabase } from './database/open-database.ts';
import { createDemoDevice } from './devices/create-demo-device.ts';
import { createDevicesOf } from './devices/sql-devices.ts';
import { createInternalTokenVerifier } from './http/internal-token.ts';
import { rememberVerifiedTokens } from './http/verified-token-cache.ts';

const VERIFIED_TOKEN_CAPACITY = 2000;

await runProcess(start, describeRefusal);

async function start(): Promise<RunningApp> {
  const configuration = readConfiguration(process.env);
  const { host, port, operationsPort, gatewayUrl, gatewayJwksUrl, logLevel } = configuration;
  const logger = createLogger({
    app: 'device-service',
    level: logLevel,
    pretty: process.stdout.isTTY === true,
  });
  exitOnUnhandledErrors(logger);

  const database = await openDatabase(configuration.database, async (tables) => {
    if (configuration.demo) {
      await createDemoDevice(createDevicesOf(tables), Date.now);
    }
  });
  const app = createApp({
    devicesOf: createDevicesOf(database.tables),
    identifyCaller: rememberVerifiedTokens(
      createInternalTokenVerifier({ issuer: gatewayUrl, jwksUrl: gatewayJwksUrl }),
      { capacity: VERIFIED_TOKEN_CAPACITY, now: Date.now },
    ),
    generateId: randomUUID,
    now: Date.now,
    logger,
  });
  const server = await serve(app, { host, port });
  const checks = { database: database.ping };
  const operations = await serveOperations({ host, port: operationsPort, checks });
  logger.info({ port: server.port, operationsPort: operations.port }, 'listening');
  return {
    // The operations port goes after the drain: a liveness probe must not end it early.
    close: async () => {
      await server.close();
      await operations.close();
      await database.close();
    },
  };
}

function describeRefusal(error: unknown): string {
  if (error instanceof ConfigurationError) {
    const lines = error.problems.map(({ name, message }) => `  ${name}: ${message}`);
    return ['device-service did not start, because of its configuration:', ...lines].join('\n');
  }
  const { message, cause } = error instanceof Error ? error : new Error('unknown reason');
  const reason = cause instanceof Error ? `${message} (${cause.message})` : message;
  return `device-service did not start: ${reason}`;
}
