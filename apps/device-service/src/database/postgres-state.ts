import { sql } from 'kysely';
import type { DeviceDatabase } from '../tables/tables.ts';
import type { DatabaseServer } from './open-database.ts';

/** What operators can set wrong about a PostgreSQL server. */
export interface PostgresState {
  readonly fsync: string;
  readonly fullPageWrites: string;
  /** Of the sessions of this service. */
  readonly synchronousCommit: string;
  /** How the server sees the connection of this service. A pooler may be between them. */
  readonly connection: 'encrypted' | 'local' | 'unencrypted';
  readonly connections: {
    /** Without those that are reserved for superusers. */
    readonly limit: number;
    readonly open: number;
    /** The number that all workers of this service together may open. */
    readonly pool: number;
  };
}

interface Row extends Omit<PostgresState, 'connections'> {
  readonly version: string;
  readonly time: number;
  readonly limit: number;
  readonly open: number;
}

/** @param pool the number of connections that the service may open */
export async function readPostgresState(
  tables: DeviceDatabase,
  pool: number,
): Promise<DatabaseServer> {
  const { rows } = await sql<Row>`select
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
  const [row] = rows;
  if (row === undefined) {
    throw new Error('PostgreSQL returned no row for its settings.');
  }
  const { version, time, limit, open, ...state } = row;
  return {
    engine: 'postgres',
    version,
    time,
    postgres: { ...state, connections: { limit, open, pool } },
  };
}
