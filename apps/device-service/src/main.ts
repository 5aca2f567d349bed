import { randomUUID } from 'node:crypto';
import { ConfigurationError } from '@gatehouse/configuration';
import {
  createLogger,
  createMetricsRegistry,
  exitOnUnhandledErrors,
  type RunningApp,
  runProcess,
  serve,
  serveOperations,
} from '@gatehouse/http-server';
import { createApp } from './app.ts';
import { readConfiguration } from './config.ts';
import type { DeviceDatabase } from './database/database.ts';
import { openDatabase } from './database/open-database.ts';
import { createDemoDevice } from './devices/create-demo-device.ts';
import { createInternalTokenVerifier } from './http/internal-token.ts';
import { rememberVerifiedTokens } from './http/verified-token-cache.ts';
import { createInventoryOf } from './inventory.ts';
import { startLogExpiry } from './logs/expire-logs.ts';
import { createDeviceServiceMetrics } from './metrics/device-service-metrics.ts';
import { observeVerification } from './metrics/observe-verification.ts';

const VERIFIED_TOKEN_CAPACITY = 2000;
/** As the bootstrap names it. */
const DEMO_ORGANIZATION = 'demo';

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
  for (const warning of configuration.warnings) {
    logger.warn(warning);
  }

  const { engine } = configuration.database;
  const registry = createMetricsRegistry();
  const metrics = createDeviceServiceMetrics(registry, { engine });
  const createDemo = async (tables: DeviceDatabase) => {
    if (configuration.demo) {
      const { devices } = createInventoryOf({ tables, engine })(DEMO_ORGANIZATION);
      await createDemoDevice(devices, Date.now);
    }
  };
  const database = await openDatabase(configuration.database, createDemo, metrics.database);
  const tokens = createInternalTokenVerifier({ issuer: gatewayUrl, jwksUrl: gatewayJwksUrl });
  const app = createApp({
    inventoryOf: createInventoryOf(database),
    identifyCaller: rememberVerifiedTokens(observeVerification(tokens.verify, metrics.verified), {
      capacity: VERIFIED_TOKEN_CAPACITY,
      now: Date.now,
    }),
    generateId: randomUUID,
    now: Date.now,
    logger,
    metrics,
  });
  const server = await serve(app, {
    ...{ host, port, logger, metrics: registry },
    maximumConnections: configuration.maximumConnections,
    shutdownDelayMilliseconds: configuration.shutdownDelayMilliseconds,
  });
  const expiry = startLogExpiry({
    database: database.tables,
    engine,
    retentionDays: configuration.logRetentionDays,
    now: Date.now,
    onFailure: (err) => logger.warn({ err }, 'expired log records were not deleted'),
  });
  const operations = await serveOperations({
    ...{ host, port: operationsPort, metrics: registry },
    checks: { database: database.ping, 'database-writes': database.assertWritable },
    // The gateway may start after this service, which it is to find ready.
    peers: { 'gateway-keys': tokens.haveKeys },
  });
  logger.info({ port: server.port, operationsPort: operations.port }, 'listening');
  return {
    // The operations port goes after the drain: a liveness probe must not end it early.
    close: async () => {
      operations.startDraining();
      await server.close();
      await operations.close();
      await expiry.close();
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
