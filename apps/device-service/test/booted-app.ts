import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger, createMetricsRegistry, serve } from '@gatehouse/server';
import { createApp } from '../src/app.ts';
import type { DatabaseLocation } from '../src/database/database-url.ts';
import { type OpenDatabase, openDatabase } from '../src/database/open-database.ts';
import { createInternalTokenVerifier } from '../src/http/internal-token.ts';
import { rememberVerifiedTokens } from '../src/http/verified-token-cache.ts';
import { createSqlInventoryOf } from '../src/inventory/sql-inventory.ts';
import { createDeviceServiceMetrics } from '../src/metrics/device-service-metrics.ts';
import { type GatewayDouble, startGatewayDouble } from './gateway-double.ts';

/** The app on a free port, with a database in a temporary folder. */
export interface BootedApp {
  readonly url: string;
  readonly port: number;
  readonly databasePath: string;
  readonly database: OpenDatabase;
  readonly gateway: GatewayDouble;
  close(): Promise<void>;
}

/** Uses a new SQLite file by default. */
export async function bootApp(
  location?: DatabaseLocation,
  now: () => number = Date.now,
): Promise<BootedApp> {
  const gateway = await startGatewayDouble();
  const directory = mkdtempSync(join(tmpdir(), 'device-service-'));
  const databasePath = join(directory, 'devices.sqlite');
  const database = await openDatabase(location ?? { engine: 'sqlite', path: databasePath });
  const app = createApp({
    inventoryOf: createSqlInventoryOf(database),
    identifyCaller: rememberVerifiedTokens(
      createInternalTokenVerifier({ issuer: gateway.issuer, jwksUrl: gateway.jwksUrl }).verify,
      { capacity: 100, now: Date.now },
    ),
    generateId: randomUUID,
    now,
    logger: createLogger({ app: 'device-service', level: 'silent', pretty: false }),
    metrics: createDeviceServiceMetrics(createMetricsRegistry(), database),
  });
  const server = await serve(app, { host: '127.0.0.1', port: 0 });
  return {
    url: `http://127.0.0.1:${server.port}`,
    port: server.port,
    databasePath,
    database,
    gateway,
    close: async () => {
      await server.close();
      await database.close();
      await gateway.stop();
      rmSync(directory, { recursive: true });
    },
  };
}
