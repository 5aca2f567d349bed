import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger, createMetricsRegistry, serve } from '@gatehouse/server';
import { createApp } from '../src/app.ts';
import type { DatabaseLocation } from '../src/database/database-url.ts';
import { openDatabase } from '../src/database/open-database.ts';
import type { OpenDatabase } from '../src/database/tables.ts';
import { createCallers } from '../src/http/caller.ts';
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
  const registry = createMetricsRegistry();
  const app = createApp({
    database,
    callers: createCallers({
      issuer: gateway.issuer,
      jwksUrl: gateway.jwksUrl,
      registry,
      now: Date.now,
    }),
    now,
    logger: createLogger({ app: 'device-service', level: 'silent' }),
    registry,
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
