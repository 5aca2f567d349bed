/** The database is locked, full, unreadable or unreachable. The request fails with 503. */
export class DatabaseUnavailableError extends Error {
  /** The database still reads, but its disk is full or it is read-only. */
  readonly refusesWrites: boolean;

  constructor(cause: unknown, refusesWrites = false) {
    super('The database is unavailable.', { cause });
    this.name = 'DatabaseUnavailableError';
    this.refusesWrites = refusesWrites;
  }
}

const BUSY = 5;
const READ_ONLY = 8;
const FULL = 13;

/** Primary result codes that the database causes, not the query. */
const UNAVAILABLE_RESULTS: ReadonlySet<number> = new Set([
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

/** Turns an error that the database caused into `DatabaseUnavailableError`. */
export function translateSqliteError(error: unknown): unknown {
  const code = primaryResultCode(error);
  return UNAVAILABLE_RESULTS.has(code)
    ? new DatabaseUnavailableError(error, code === FULL || code === READ_ONLY)
    : error;
}

/** Another connection holds the lock, so a later attempt may succeed. */
export function isLocked(error: unknown): boolean {
  return primaryResultCode(error) === BUSY;
}

/** 0, the code of success, for other errors. */
function primaryResultCode(error: unknown): number {
  return Number(Object(error).errcode ?? 0) & 0xff;
}

/** No class of PostgreSQL starts with E, unlike names of system errors such as EPIPE. */
const SQLSTATE = /^(?!E)[0-9A-Z]{5}$/;
const READ_ONLY_STATE = '25006';
const DISK_FULL = '53100';

/** Classes (the first two characters of a code) that the database causes, not the query. */
const UNAVAILABLE_CLASSES: ReadonlySet<string> = new Set([
  '', // no code: the connection failed
  '08', // connection exception
  '25', // transaction state: a standby, a primary that lost its role, idle for too long
  '28', // authorization refused
  '3D', // no such database
  '40', // transaction rollback: deadlock, serialization failure
  '53', // insufficient resources: disk full, out of memory, too many connections
  '55', // object state: lock not available in time
  '57', // operator intervention: shutdown, crash, statement timeout
  '58', // system error: I/O error
  'XX', // internal error: data corrupted
]);
const ROLLED_BACK_CODES: ReadonlySet<string> = new Set(['40001', '40P01']);
const REFUSED_NAME_CODES: ReadonlySet<string> = new Set([
  '0A000', // the columns of the result have changed
  '26000', // no statement with this name
  '42P05', // another client has prepared the name on this connection
]);

/**
 * Turns an error of PostgreSQL or its driver into `DatabaseUnavailableError` if the database caused
 * it. An error without SQLSTATE comes from the connection, except for a TypeError or RangeError:
 * this service called the driver incorrectly.
 */
export function translatePostgresError(error: unknown): unknown {
  if (
    error instanceof DatabaseUnavailableError ||
    error instanceof TypeError ||
    error instanceof RangeError
  ) {
    return error;
  }
  const code = stateOf(error);
  return UNAVAILABLE_CLASSES.has(code.slice(0, 2))
    ? new DatabaseUnavailableError(error, code === DISK_FULL || code === READ_ONLY_STATE)
    : error;
}

/** The connection failed, without an error from PostgreSQL. */
export function isConnectionLost(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError && stateOf(error.cause) === '';
}

/** The error of a server that reports itself read-only. */
export function readOnlyError(): DatabaseUnavailableError {
  const cause = Object.assign(new Error('The database is read-only.'), { code: READ_ONLY_STATE });
  return new DatabaseUnavailableError(cause, true);
}

export function isReadOnlyError(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError && stateOf(error.cause) === READ_ONLY_STATE;
}

/** PostgreSQL rolled back the transaction to let others continue, so it can run again. */
export function isRolledBackForOthers(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError && ROLLED_BACK_CODES.has(stateOf(error.cause));
}

/** A named statement cannot run, but it can without its name. */
export function isNameRefused(error: unknown): boolean {
  return REFUSED_NAME_CODES.has(stateOf(error));
}

/** The SQLSTATE of an error. Empty: the error does not come from PostgreSQL. */
function stateOf(error: unknown): string {
  const code = String(Object(error).code);
  return SQLSTATE.test(code) ? code : '';
}
