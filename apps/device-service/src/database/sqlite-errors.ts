import { DatabaseUnavailable } from './database-unavailable.ts';

const BUSY = 5;
const READ_ONLY = 8;
const FULL = 13;

/** Primary result codes that say something about the database and nothing about the query. */
const UNAVAILABLE_CODES: ReadonlySet<number> = new Set([
  BUSY,
  6, // LOCKED
  7, // NOMEM
  READ_ONLY,
  10, // IOERR
  11, // CORRUPT
  FULL,
  14, // CANTOPEN
  15, // PROTOCOL
  26, // NOTADB
]);

/** @throws DatabaseUnavailable in place of what SQLite says when it cannot work */
export function translateSqliteErrors<Result>(operation: () => Result): Result {
  try {
    return operation();
  } catch (error) {
    const code = primaryResultCode(error);
    throw code !== undefined && UNAVAILABLE_CODES.has(code)
      ? new DatabaseUnavailable(error, { refusesWrites: code === FULL || code === READ_ONLY })
      : error;
  }
}

/** Whether another connection holds what this one needs, so that waiting may help. */
export function isLocked(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && primaryResultCode(error.cause) === BUSY;
}

function primaryResultCode(error: unknown): number | undefined {
  return typeof error === 'object' &&
    error !== null &&
    'errcode' in error &&
    typeof error.errcode === 'number'
    ? error.errcode & 0xff
    : undefined;
}
