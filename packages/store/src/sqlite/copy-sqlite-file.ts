import { closeSync, fsyncSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

const BUSY_MILLISECONDS = 5_000;

/**
 * Copies a database, as of one moment, into a new file that only its owner can read, while other
 * processes use it.
 */
export function copySqliteFile(from: string, to: string): void {
  // VACUUM INTO fills an empty file. Created here, so that no other user can open it.
  closeSync(openSync(to, 'wx', 0o600));
  const database = new DatabaseSync(from, { readOnly: true, timeout: BUSY_MILLISECONDS });
  try {
    database.prepare('VACUUM INTO ?').run(to);
  } finally {
    database.close();
  }
  const descriptor = openSync(to, 'r+');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
