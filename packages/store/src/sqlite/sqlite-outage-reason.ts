const SQLITE_BUSY = 5;
const SQLITE_READONLY = 8;
const SQLITE_FULL = 13;

const adviceByCode: Readonly<Record<number, string>> = {
  [SQLITE_BUSY]: 'Another process holds the lock for too long: find it.',
  [SQLITE_READONLY]: 'Make the file of the store, its folder and its file system writable.',
  [SQLITE_FULL]: 'Free space on the file system of the store.',
};

/** System errors from opening the file before SQLite opens it. */
const refusedToOpen = ['EROFS', 'EACCES', 'EPERM'];

/** The disk is full. Reads of the file still work. */
export function isDiskFull(error: unknown): boolean {
  return codeOf(error) === SQLITE_FULL;
}

/** SQLite's error text, which is fixed and never quotes a value, and what to do about it. */
export function sqliteOutageReason(error: unknown): string | undefined {
  const { code: systemCode } = Object(error) as { code?: unknown };
  if (typeof systemCode === 'string' && refusedToOpen.includes(systemCode)) {
    return `The file cannot be opened (${systemCode}). ${adviceByCode[SQLITE_READONLY]}`;
  }
  const code = codeOf(error);
  const { errstr } = Object(error) as { errstr?: unknown };
  if (code === undefined || typeof errstr !== 'string') {
    return undefined;
  }
  const advice = adviceByCode[code];
  return `SQLite reports "${errstr}".${advice === undefined ? '' : ` ${advice}`}`;
}

/** The primary result code, which is the low byte. */
function codeOf(error: unknown): number | undefined {
  const { errcode } = Object(error) as { errcode?: unknown };
  return typeof errcode === 'number' ? errcode & 0xff : undefined;
}
