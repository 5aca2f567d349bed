import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PostgresServer, startPostgresServer } from '@gatehouse/testing';
import { type DatabaseLocation, parseDatabaseUrl } from '../src/database/database-url.ts';

export const databaseEngines = ['sqlite', 'postgres'] as const;

export type DatabaseEngineName = (typeof databaseEngines)[number];

/** An empty database: a file, or a PostgreSQL server. */
export interface DatabaseEngineForTest {
  readonly location: DatabaseLocation;
  /** For `DATABASE_URL`. */
  readonly url: string;
  readonly postgres: PostgresServer | undefined;
  /** Creates another empty database. */
  createDatabase(name: string): Promise<DatabaseLocation>;
  stop(): Promise<void>;
}

export const locationOf = (url: string) => parseDatabaseUrl(url) as DatabaseLocation;

export async function startDatabaseEngine(
  name: DatabaseEngineName,
): Promise<DatabaseEngineForTest> {
  if (name === 'postgres') {
    const postgres = await startPostgresServer();
    return {
      location: locationOf(postgres.url),
      url: postgres.url,
      postgres,
      createDatabase: async (database) => locationOf(await postgres.createDatabase(database)),
      stop: postgres.stop,
    };
  }
  const directory = mkdtempSync(join(tmpdir(), 'device-service-'));
  const path = join(directory, 'devices.sqlite');
  return {
    location: { engine: 'sqlite', path },
    url: `sqlite:${path}`,
    postgres: undefined,
    createDatabase: async (database) => ({
      engine: 'sqlite',
      path: join(directory, `${database}.sqlite`),
    }),
    stop: async () => rmSync(directory, { recursive: true }),
  };
}
