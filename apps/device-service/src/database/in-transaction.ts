import type { DeviceDatabase } from './database.ts';

/** Runs the work atomically: in a transaction of its own, or as part of the one that is already open. */
export function inTransaction<Result>(
  database: DeviceDatabase,
  work: (transaction: DeviceDatabase) => Promise<Result>,
): Promise<Result> {
  return database.isTransaction ? work(database) : database.transaction().execute(work);
}
