import { randomUUID } from 'node:crypto';
import { createMetricsRegistry, type Logger, openTracer, type ServedApp } from '@gatehouse/server';
import { createApp } from './app.ts';
import type { DeviceServiceConfiguration } from './config.ts';
import { openDatabase } from './database/open-database.ts';
import { traceStatements } from './database/trace-statements.ts';
import { createDemoDevice } from './devices/create-demo-device.ts';
import { createInternalTokenVerifier } from './http/internal-token.ts';
import { rememberVerifiedTokens } from './http/verified-token-cache.ts';
import { createSqlInventoryOf } from './inventory/sql-inventory.ts';
import { startLogExpiry } from './logs/expire-logs.ts';
import { createDeviceServiceMetrics } from './metrics/device-service-metrics.ts';
import { observeVerification } from './metrics/observe-verification.ts';
import type { DeviceDatabase } from './tables/tables.ts';

const VERIFIED_TOKEN_CAPACITY = 2000;
/** The bootstrap of the authorization server creates the demo clients in this organization. */
const DEMO_ORGANIZATION = 'demo';

export async function openDeviceService(
  configuration: DeviceServiceConfiguration,
  logger: Logger,
): Promise<ServedApp> {
  const { gatewayUrl, gatewayJwksUrl } = configuration;
  const { engine } = configuration.database;
  // The gateway decides which requests have spans.
  const tracer = await openTracer({ app: 'device-service', logger, onlyFollowsCaller: true });
  const registry = createMetricsRegistry();
  const metrics = createDeviceServiceMetrics(registry, { engine });
  const fillNewDatabase = async (tables: DeviceDatabase) => {
    if (configuration.demo) {
      const { devices } = createSqlInventoryOf({ tables, engine })(DEMO_ORGANIZATION);
      await createDemoDevice(devices, Date.now);
    }
  };
  const database = await openDatabase(configuration.database, fillNewDatabase, {
    observer: traceStatements(metrics.database, tracer),
    workers: configuration.workers,
  });
  const tokens = createInternalTokenVerifier({ issuer: gatewayUrl, jwksUrl: gatewayJwksUrl });
  const app = createApp({
    inventoryOf: createSqlInventoryOf(database),
    identifyCaller: rememberVerifiedTokens(observeVerification(tokens.verify, metrics.verified), {
      capacity: VERIFIED_TOKEN_CAPACITY,
      now: Date.now,
    }),
    generateId: randomUUID,
    now: Date.now,
    logger,
    metrics,
    tracer,
  });
  const expiry = startLogExpiry({
    database: database.tables,
    engine,
    retentionDays: configuration.logRetentionDays,
    now: Date.now,
    onFailure: (err) => logger.warn({ err }, 'expired log records were not deleted'),
  });
  return {
    listener: app,
    metrics: registry,
    checks: { database: database.ping },
    // Every instance shares a database that refuses writes, and reads still work. The gateway may
    // start later.
    peers: { 'database-writes': database.assertWritable, 'gateway-keys': tokens.haveKeys },
    documents: { '/database': database.about },
    async release() {
      await expiry.close();
      await database.close();
      await tracer?.close();
    },
  };
}
