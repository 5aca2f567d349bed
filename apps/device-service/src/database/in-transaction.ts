import type { DatabaseEngine } from '../tables/tables.ts';
import type { OrganizationDatabase } from './organization-scope.ts';
import { isNameRefused, isRolledBackForOthers } from './postgres-errors.ts';

const ATTEMPTS = 3;

/**
 * Runs the work in a new transaction, or in the one that is already open. The work runs again after
 * a deadlock or a refused statement name, so it must only run queries.
 */
export async function inTransaction<Result>(
  database: OrganizationDatabase,
  work: (transaction: OrganizationDatabase) => Promise<Result>,
): Promise<Result> {
  if (database.isTransaction) {
    return work(database);
  }
  return repeated(() =>
    database
      .transaction()
      // A transaction has the scope of its database.
      .execute((transaction) => work(transaction as unknown as OrganizationDatabase)),
  );
}

/**
 * Runs work that makes at most one change, which is atomic by itself. On PostgreSQL, this saves the
 * two statements of a transaction. On SQLite, transactions share a commit.
 */
export function withOneChange<Result>(
  database: OrganizationDatabase,
  engine: DatabaseEngine,
  work: (database: OrganizationDatabase) => Promise<Result>,
): Promise<Result> {
  return engine === 'postgres' ? repeated(() => work(database)) : inTransaction(database, work);
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
