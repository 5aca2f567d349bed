import type { LogEvent } from 'kysely';
import { DatabaseUnavailableError } from './database-unavailable-error.ts';
import type { WriteWatch } from './watch-writes.ts';

/** By the kind of Kysely's query node. */
const statements: Readonly<Record<string, StatementKind>> = {
  SelectQueryNode: 'select',
  InsertQueryNode: 'insert',
  UpdateQueryNode: 'update',
  DeleteQueryNode: 'delete',
};

export const statementKinds = ['select', 'insert', 'update', 'delete', 'raw'] as const;

export type StatementKind = (typeof statementKinds)[number];

/** Collects metrics. Must not throw. */
export interface DatabaseObserver {
  queried(statement: StatementKind, seconds: number, failed: boolean): void;
  /** Also called when the service only opened a connection. */
  answered(isAvailable: boolean): void;
  /** Called when the database starts or stops accepting writes. */
  writable(isWritable: boolean): void;
}

/** For Kysely's `log`, which receives the duration of every query. */
export function observeQueries(
  observer: DatabaseObserver | undefined,
  writes: Pick<WriteWatch, 'failed'>,
): (event: LogEvent) => void {
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
    observer?.answered(!(failed && event.error instanceof DatabaseUnavailableError));
  };
}
