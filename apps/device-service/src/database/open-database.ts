/**
 * Owns the database connection: opening, migrating and watching it.
 *
 *   database-url ─▶ open-database ─▶ open-sqlite (node-sqlite-dialect)
 *                                │   open-postgres (postgres-pool ─▶ postgres-connection, one of postgres-servers)
 *                                ├▶ watch-writes: whether the database accepts writes
 *                                └▶ migrate-database ─▶ migrations/, under a lock
 *   organization-scope: limits every query to the rows of one organization
 *
 * Queries are not here: each domain folder has its own adapter over `OrganizationDatabase`.
 */
import type { DatabaseEngine, DeviceDatabase } from '../tables/tables.ts';
import type { DatabaseLocation } from './database-url.ts';
import type { NewDatabaseHook } from './migrate-database.ts';
import type { DatabaseObserver } from './observe-queries.ts';
import { openPostgres } from './open-postgres.ts';
import { openSqlite } from './open-sqlite.ts';

export interface OpenDatabase {
  readonly engine: DatabaseEngine;
  readonly tables: DeviceDatabase;
  /** Resolves when the database answers. */
  ping(): Promise<void>;
  /** Resolves when it accepts writes, as far as is known: see watch-writes.ts. */
  assertWritable(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens the database and brings its tables up to date.
 *
 * @throws DatabaseUnavailable when it cannot be reached, read or locked
 */
export function openDatabase(
  location: DatabaseLocation,
  whenNew: NewDatabaseHook = async () => undefined,
  observer?: DatabaseObserver,
): Promise<OpenDatabase> {
  return location.engine === 'postgres'
    ? openPostgres(location.url, whenNew, observer)
    : openSqlite(location.path, whenNew, observer);
}
