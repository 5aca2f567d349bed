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
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await database
        .transaction()
        // A transaction has the scope of its database.
        .execute((transaction) => work(transaction as unknown as OrganizationDatabase));
    } catch (error) {
      if (attempt === ATTEMPTS || !(isRolledBackForOthers(error) || isNameRefused(error))) {
        throw error;
      }
    }
  }
}
