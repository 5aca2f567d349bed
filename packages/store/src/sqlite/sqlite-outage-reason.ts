const SQLITE_BUSY = 5;
const SQLITE_READONLY = 8;
const SQLITE_FULL = 13;

const advices: Readonly<Record<number, string>> = {
  [SQLITE_BUSY]: 'Another process holds the lock for too long: find it.',
  [SQLITE_READONLY]: 'Make the file of the store, its folder and its file system writable.',
  [SQLITE_FULL]: 'Free space on the file system of the store.',
};

/** Of the system, where the file is opened before SQLite sees it. */
const refusedToOpen = ['EROFS', 'EACCES', 'EPERM'];

/** The disk has no room left; what is in the file can be read. */
export function isDiskFull(error: unknown): boolean {
  return codeOf(error) === SQLITE_FULL;
}

/** What SQLite reports, in its own fixed words, and what to do. They never quote a value. */
export function sqliteOutageReason(error: unknown): string | undefined {
  const { code: systemCode } = Object(error) as { code?: unknown };
  if (typeof systemCode === 'string' && refusedToOpen.includes(systemCode)) {
    return `The file cannot be opened (${systemCode}). ${advices[SQLITE_READONLY]}`;
  }
  const code = codeOf(error);
  const { errstr } = Object(error) as { errstr?: unknown };
  if (code === undefined || typeof errstr !== 'string') {
    return undefined;
  }
  const advice = advices[code];
  return `SQLite reports "${errstr}".${advice === undefined ? '' : ` ${advice}`}`;
}

/** The low byte is the code, the rest tells its kinds apart. */
function codeOf(error: unknown): number | undefined {
  const { errcode } = Object(error) as { errcode?: unknown };
  return typeof errcode === 'number' ? errcode & 0xff : undefined;
}
