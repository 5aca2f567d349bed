import type { Logger } from 'kysely';
import { DatabaseUnavailable } from './database-unavailable.ts';
import type { WriteWatch } from './watch-writes.ts';

/** Kinds of statement, by the names of Kysely's nodes. */
const statements: Readonly<Record<string, StatementKind>> = {
  SelectQueryNode: 'select',
  InsertQueryNode: 'insert',
  UpdateQueryNode: 'update',
  DeleteQueryNode: 'delete',
};

export const statementKinds = ['select', 'insert', 'update', 'delete', 'raw'] as const;

export type StatementKind = (typeof statementKinds)[number];

/** Hears how the database does, for metrics. Must not throw. */
export interface DatabaseObserver {
  queried(statement: StatementKind, seconds: number, failed: boolean): void;
  /** Whether the database answered, also when only a connection was asked for. */
  answered(isAvailable: boolean): void;
  /** Whether it accepts writes, when that changes. */
  writable(isWritable: boolean): void;
}

/** For Kysely's `log`: it tells the duration of every query. */
export function observeQueries(
  observer: DatabaseObserver | undefined,
  writes: Pick<WriteWatch, 'failed'>,
): Logger {
  return (event) => {
    const failed = event.level === 'error';
    if (failed) {
      writes.failed(event.error);
    }
    observer?.queried(
      statements[event.query.query.kind] ?? 'raw',
      event.queryDurationMillis / 1000,
      failed,
    );
    observer?.answered(!(failed && event.error instanceof DatabaseUnavailable));
  };
}
