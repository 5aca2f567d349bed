/**
 * Owns the database connection: opening, migrating and watching it.
 *
 *   database-url ─▶ open-database ─▶ open-sqlite (node-sqlite-dialect ─▶ sqlite-group-driver)
 *                                │   open-postgres (postgres-pool ─▶ postgres-connection, one of postgres-servers;
 *                                │                  postgres-statement: fixed queries, whose rows
 *                                │                  postgres-diversion takes from pg, for postgres-rows;
 *                                │                  postgres-state: settings, for doctor)
 *                                ├▶ watch-writes: whether the database accepts writes
 *                                └▶ migrate-database ─▶ migrations/, under a lock
 *   organization-scope: limits every query to the rows of one organization
 *
 * Queries are not here: each domain folder has its own adapter over `OrganizationDatabase`.
 */
import type { DatabaseEngine, DeviceDatabase } from '../tables/tables.ts';
import type { DatabaseLocation } from './database-url.ts';
import type { NewDatabaseCallback } from './migrate-database.ts';
import type { DatabaseObserver } from './observe-queries.ts';
import { openPostgres } from './open-postgres.ts';
import { openSqlite } from './open-sqlite.ts';
import type { PostgresState } from './postgres-state.ts';

export interface OpenDatabase {
  readonly engine: DatabaseEngine;
  readonly tables: DeviceDatabase;
  /** Rejects if the database does not answer. */
  ping(): Promise<void>;
  /** Rejects if the database is known to reject writes (watch-writes.ts). */
  assertWritable(): Promise<void>;
  about(): Promise<DatabaseServer>;
  close(): Promise<void>;
}

/** The database that is used, for operators. */
export interface DatabaseServer {
  readonly engine: DatabaseEngine;
  readonly version: string;
  /** Its clock, in epoch milliseconds. */
  readonly time: number;
  /** Only of PostgreSQL. Embedded databases get their settings from this service. */
  readonly postgres?: PostgresState;
}

export interface OpenOptions {
  readonly observer?: DatabaseObserver;
  /** Processes that share the connections to the database. */
  readonly workers?: number;
}

/**
 * Opens the database and migrates its tables.
 *
 * @throws DatabaseUnavailableError if it is unreachable, unreadable or locked
 */
export function openDatabase(
  location: DatabaseLocation,
  onNewDatabase: NewDatabaseCallback = async () => undefined,
  options?: OpenOptions,
): Promise<OpenDatabase> {
  return location.engine === 'postgres'
    ? openPostgres(location.url, onNewDatabase, options)
    : openSqlite(location.path, onNewDatabase, options);
}
