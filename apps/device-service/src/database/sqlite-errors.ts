import { DatabaseUnavailableError } from './database-unavailable-error.ts';

const BUSY = 5;
const READ_ONLY = 8;
const FULL = 13;

/** Primary result codes that the database causes, not the query. */
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

/** @throws DatabaseUnavailableError instead of an error that the database caused */
export function translateSqliteErrors<Result>(operation: () => Result): Result {
  try {
    return operation();
  } catch (error) {
    const code = primaryResultCode(error);
    throw code !== undefined && UNAVAILABLE_CODES.has(code)
      ? new DatabaseUnavailableError(error, { refusesWrites: code === FULL || code === READ_ONLY })
      : error;
  }
}

/** Another connection holds the lock, so a later attempt may succeed. */
export function isLocked(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError && primaryResultCode(error.cause) === BUSY;
}

function primaryResultCode(error: unknown): number | undefined {
  return typeof error === 'object' &&
    error !== null &&
    'errcode' in error &&
    typeof error.errcode === 'number'
    ? error.errcode & 0xff
    : undefined;
}
