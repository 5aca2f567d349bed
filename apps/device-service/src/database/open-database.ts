/**
 * Owns the database: opening, migrating and watching it.
 *
 *   database-url ─▶ open-database ─▶ sqlite (sqlite-group-driver) or postgres (postgres-driver)
 *                                ├▶ migrate ─▶ migrations/, under a lock
 *                                └▶ observation: metrics, and whether the database accepts writes
 *   organization-database: limits every query to the rows of one organization
 *   queries: prepared queries and transactions
 *
 * The queries of a resource are not here. Its SQL file uses an `OrganizationDatabase`.
 */
import { createMetricsRegistry, type Tracer } from '@gatehouse/server';
import type { DatabaseLocation } from './database-url.ts';
import type { NewDatabaseCallback } from './migrate.ts';
import { observeDatabase } from './observation.ts';
import { openPostgres } from './postgres.ts';
import { openSqlite } from './sqlite.ts';
import type { OpenDatabase } from './tables.ts';

/**
 * Opens the database and migrates its tables.
 *
 * @throws DatabaseUnavailableError if it is unreachable, unreadable or locked
 */
export function openDatabase(
  location: DatabaseLocation,
  onNewDatabase: NewDatabaseCallback = async () => undefined,
  /** Processes that share the connections to the database. */
  workers = 1,
  registry = createMetricsRegistry(),
  tracer?: Tracer,
): Promise<OpenDatabase> {
  const observation = observeDatabase(registry, location.engine, tracer);
  return location.engine === 'postgres'
    ? openPostgres(location, onNewDatabase, observation, workers)
    : openSqlite(location.path, onNewDatabase, observation);
}
