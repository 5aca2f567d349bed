import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Dialect,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  sql,
} from 'kysely';
import { DatabaseUnavailableError } from './database-errors.ts';
import type { PostgresLocation } from './database-url.ts';
import { migrateDatabase, type NewDatabaseCallback } from './migrate.ts';
import { type DatabaseObservation, runDirectly } from './observation.ts';
import { PostgresDriver } from './postgres-driver.ts';
import type { DeviceDatabase, OpenDatabase, Tables } from './tables.ts';

/** Of all workers together. A worker has at least two, so that one slow query does not block it. */
const CONNECTIONS = 10;
const LEAST_CONNECTIONS = 2;
/** A query on a column without an index reads a million devices in about one second. */
const STATEMENT_TIMEOUT_SECONDS = 5;

/** The database may start at the same time as this process. */
const START_TIMEOUT_MILLISECONDS = 30_000;
const RETRY_DELAY_MILLISECONDS = 250;
/** `/ready` waits 700 ms for a check. */
const READ_ONLY_DEADLINE_MILLISECONDS = 400;

export async function openPostgres(
  location: PostgresLocation,
  onNewDatabase: NewDatabaseCallback,
  observation: DatabaseObservation,
  workers: number,
): Promise<OpenDatabase> {
  await migrateWhenUp(location, onNewDatabase);
  const connections = Math.max(Math.ceil(CONNECTIONS / workers), LEAST_CONNECTIONS);
  const driver = new PostgresDriver({
    location,
    connections,
    statementTimeoutSeconds: STATEMENT_TIMEOUT_SECONDS,
    onFailedConnect: observation.failed,
  });
  const dialect = createPostgresDialect(driver);
  const tables: DeviceDatabase = new Kysely<Tables>({ dialect, log: observation.log });
  return {
    engine: 'postgres',
    tables,
    run: runDirectly(driver, observation.log),
    ping: async () => {
      await sql`select 1`.execute(tables);
    },
    assertWritable: async () => {
      // `ping` reports a server that does not answer.
      await Promise.race([
        isReadOnly(tables).then(observation.readOnly, observation.failed),
        sleep(READ_ONLY_DEADLINE_MILLISECONDS, undefined, { ref: false }),
      ]);
      observation.assertWritable();
    },
    about: () => readPostgresState(tables, connections * workers),
    close: () => tables.destroy(),
  };
}

/** Kysely's dialect with a driver that chooses the server. */
export function createPostgresDialect(driver: PostgresDriver): Dialect {
  return {
    createDriver: () => driver,
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createAdapter: () => new PostgresAdapter(),
    createIntrospector: (db) => new PostgresIntrospector(db),
  };
}

/** Detects a standby or a read-only primary before the first write fails. */
async function isReadOnly(tables: DeviceDatabase): Promise<boolean> {
  const query = sql<{ readonly transaction_read_only: string }>`show transaction_read_only`;
  const { rows } = await query.execute(tables);
  return rows[0]?.transaction_read_only !== 'off';
}

/** Uses a connection without timeouts: creating an index over a million rows takes a while. */
async function migrateWhenUp(
  location: PostgresLocation,
  onNewDatabase: NewDatabaseCallback,
): Promise<void> {
  const driver = new PostgresDriver({
    location,
    connections: 1,
    statementTimeoutSeconds: undefined,
  });
  const tables = new Kysely<Tables>({ dialect: createPostgresDialect(driver) });
  const deadline = performance.now() + START_TIMEOUT_MILLISECONDS;
  try {
    for (;;) {
      try {
        await sql`select 1`.execute(tables);
        break;
      } catch (error) {
        if (!(error instanceof DatabaseUnavailableError) || performance.now() > deadline) {
          throw error;
        }
        await sleep(RETRY_DELAY_MILLISECONDS);
      }
    }
    await migrateDatabase(tables, 'postgres', onNewDatabase);
  } finally {
    await tables.destroy();
  }
}

/**
 * What operators can set wrong about a server. `connection` is how the server sees the connection of
 * this service, with a pooler possibly between them.
 *
 * @param pool the number of connections that all workers of the service together may open
 */
async function readPostgresState(tables: DeviceDatabase, pool: number): Promise<object> {
  const { rows } = await sql<Record<string, unknown>>`select
    current_setting('server_version') as version,
    (extract(epoch from clock_timestamp()) * 1000)::float8 as time,
    current_setting('fsync') as fsync,
    current_setting('full_page_writes') as "fullPageWrites",
    current_setting('synchronous_commit') as "synchronousCommit",
    case
      when (select ssl from pg_stat_ssl where pid = pg_backend_pid()) then 'encrypted'
      when inet_client_addr() is null or inet_client_addr() = inet_server_addr()
        or inet_client_addr() <<= '127.0.0.0/8' then 'local'
      else 'unencrypted'
    end as connection,
    current_setting('max_connections')::int
      - current_setting('superuser_reserved_connections')::int
      - coalesce(current_setting('reserved_connections', true), '0')::int as limit,
    (select sum(numbackends) from pg_stat_database)::int as open`.execute(tables);
  const { version, time, limit, open, ...state } = rows[0] ?? {};
  return {
    engine: 'postgres',
    version,
    time,
    postgres: { ...state, connections: { limit, open, pool } },
  };
}
