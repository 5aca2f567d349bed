import { PostgresAdapter, type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/sqlite';
import type { OrganizationDatabase } from './organization-scope.ts';

/** Selects the rows of a subquery as JSON text in one column, which saves a statement. */
export function jsonArray(
  database: OrganizationDatabase,
  rows: SelectQueryBuilder<never, never, object>,
): RawBuilder<string> {
  return database.getExecutor().adapter instanceof PostgresAdapter
    ? sql<string>`(select coalesce(json_agg(item), '[]')::text from ${rows} as item)`
    : (jsonArrayFrom(rows) as unknown as RawBuilder<string>);
}
