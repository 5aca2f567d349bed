import { existsSync, statfsSync } from 'node:fs';

const FOLDER = '/dev/shm';
/** Several times what the tests use. Many containers have only 64 MiB there. */
const REQUIRED_BYTES = 1024 ** 3;

/**
 * Keeps the temporary files of tests in memory. While a slow disk is busy, Redis, SQLite and
 * PostgreSQL stop for seconds, and correct tests fail.
 */
export function memoryFolder(): Readonly<Record<string, string>> {
  if (!existsSync(FOLDER)) {
    return {};
  }
  const { bavail, bsize } = statfsSync(FOLDER);
  return bavail * bsize < REQUIRED_BYTES ? {} : { TMPDIR: FOLDER };
}
