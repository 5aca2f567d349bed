import type { OrganizationDatabase } from './organization-scope.ts';
import { isRolledBackForOthers } from './postgres-errors.ts';

const ATTEMPTS = 3;

/**
 * Runs the work atomically: in a transaction of its own, or as part of the one that is already open. Work
 * that a deadlock undid runs again, so it must do nothing but queries.
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
        // A transaction keeps the scope of the database it was opened on.
        .execute((transaction) => work(transaction as unknown as OrganizationDatabase));
    } catch (error) {
      if (attempt === ATTEMPTS || !isRolledBackForOthers(error)) {
        throw error;
      }
    }
  }
}
