import { DatabaseUnavailable } from './database-unavailable.ts';

/** No class of PostgreSQL starts with E, but names of system errors do: EPIPE has five letters, too. */
const SQLSTATE = /^(?!E)[0-9A-Z]{5}$/;
const READ_ONLY = '25006';
const DISK_FULL = '53100';

/** Classes (first two characters) and codes that say something about the database, not about the query. */
const UNAVAILABLE_CLASSES: ReadonlySet<string> = new Set([
  '08', // connection exception
  '40', // transaction rollback: deadlock, serialization failure
  '53', // insufficient resources: disk full, out of memory, too many connections
  '57', // operator intervention: shutdown, crash, statement timeout
  '58', // system error: I/O error
  'XX', // internal error: data corrupted
]);
const UNAVAILABLE_CODES: ReadonlySet<string> = new Set([
  READ_ONLY, // a standby, or a primary that lost its role
  '25P03', // idle in transaction for too long
  '28000', // authorization refused
  '28P01', // wrong password
  '3D000', // no such database
  '55P03', // lock not available in time
]);
const ROLLED_BACK_CODES: ReadonlySet<string> = new Set(['40001', '40P01']);

/**
 * What PostgreSQL says, or the driver about its connection, as `DatabaseUnavailable` where the query could
 * not be carried out. An error without SQLSTATE is the connection's: refused, reset, timed out;
 * but for a mistake of ours in calling the driver.
 */
export function translatePostgresError(error: unknown): unknown {
  if (error instanceof TypeError || error instanceof RangeError) {
    return error;
  }
  const code = codeOf(error);
  const isAboutDatabase =
    code === undefined ||
    !SQLSTATE.test(code) ||
    UNAVAILABLE_CLASSES.has(code.slice(0, 2)) ||
    UNAVAILABLE_CODES.has(code);
  return isAboutDatabase
    ? new DatabaseUnavailable(error, { refusesWrites: code === DISK_FULL || code === READ_ONLY })
    : error;
}

/** Whether the failure is the connection's: PostgreSQL itself said nothing. */
export function isConnectionLost(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && !SQLSTATE.test(codeOf(error.cause) ?? '');
}

export function isReadOnly(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && codeOf(error.cause) === READ_ONLY;
}

/** Whether PostgreSQL undid the whole transaction so that others could go on: it may simply run again. */
export function isRolledBackForOthers(error: unknown): boolean {
  return (
    error instanceof DatabaseUnavailable && ROLLED_BACK_CODES.has(codeOf(error.cause) ?? 'none')
  );
}

function codeOf(error: unknown): string | undefined {
  return typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    typeof error.code === 'string'
    ? error.code
    : undefined;
}
