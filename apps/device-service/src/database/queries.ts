import { createHash } from 'node:crypto';
import { type Compilable, type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/sqlite';
import { isNameRefused, isRolledBackForOthers } from './database-errors.ts';
import {
  type OrganizationDatabase,
  type ScopedQuery,
  scopeToOrganization,
} from './organization-database.ts';
import type { DatabaseEngine } from './tables.ts';

/** Symbols stand for the values while a query is compiled. */
const ORGANIZATION = Symbol('organization');

/**
 * Creates a query whose text is always the same. It is built, limited to the organization and
 * compiled once for each engine, which costs more than running it. The first call decides which
 * values exist.
 */
export function prepared<Values extends object, Row>(
  build: (database: OrganizationDatabase, values: Values) => Compilable<Row>,
): (database: OrganizationDatabase, values: Values) => Promise<readonly Row[]> {
  const compiled: Partial<Record<DatabaseEngine, ScopedQuery<Row>>> = {};

  function compile(database: OrganizationDatabase, values: Values): ScopedQuery<Row> {
    const { engine, tables } = database;
    const organizationId = ORGANIZATION as unknown as string;
    const scoped = scopeToOrganization({ engine, tables: tables.withoutPlugins() }, organizationId);
    const placeholders = Object.keys(values).map((name) => [name, Symbol(name)]);
    const query = build(scoped, Object.fromEntries(placeholders)).compile();
    // Derived from the text, because a connection pooler may give a server connection to processes
    // of different versions.
    const name = createHash('sha256').update(query.sql).digest('hex').slice(0, 32);
    return { ...query, name } as ScopedQuery<Row>;
  }

  return async (database, values) => {
    compiled[database.engine] ??= compile(database, values);
    const query = compiled[database.engine] as ScopedQuery<Row>;
    const parameters = query.parameters.map((parameter) => {
      if (typeof parameter !== 'symbol') {
        return parameter;
      }
      return parameter === ORGANIZATION
        ? database.organizationId
        : values[parameter.description as keyof Values];
    });
    const bound = { ...query, parameters };
    return database.run === undefined
      ? (await database.tables.executeQuery<Row>(bound)).rows
      : ((await database.run(bound)) as readonly Row[]);
  };
}

/** Selects the rows of a subquery as JSON text in one column, which saves a statement. */
export function jsonArray(
  { engine }: OrganizationDatabase,
  rows: SelectQueryBuilder<never, never, object>,
): RawBuilder<string> {
  return engine === 'postgres'
    ? sql<string>`(select coalesce(json_agg(item), '[]')::text from ${rows} as item)`
    : (jsonArrayFrom(rows) as unknown as RawBuilder<string>);
}

const ATTEMPTS = 3;

/**
 * Runs the work in a new transaction, or in the one that is already open. The work runs again after
 * a deadlock or a refused statement name, so it must only run queries.
 */
export async function inTransaction<Result>(
  database: OrganizationDatabase,
  work: (transaction: OrganizationDatabase) => Promise<Result>,
): Promise<Result> {
  if (database.tables.isTransaction) {
    return work(database);
  }
  return repeated(() =>
    database.tables
      .transaction()
      // A transaction has the scope of its database.
      .execute((tables) =>
        work({ ...database, tables: tables as unknown as typeof database.tables, run: undefined }),
      ),
  );
}

/**
 * Runs work that makes at most one change, which is atomic by itself. On PostgreSQL, this saves the
 * two statements of a transaction. On SQLite, transactions share a commit.
 */
export function withOneChange<Result>(
  database: OrganizationDatabase,
  work: (database: OrganizationDatabase) => Promise<Result>,
): Promise<Result> {
  return database.engine === 'postgres'
    ? repeated(() => work(database))
    : inTransaction(database, work);
}

async function repeated<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === ATTEMPTS || !(isRolledBackForOthers(error) || isNameRefused(error))) {
        throw error;
      }
    }
  }
}
