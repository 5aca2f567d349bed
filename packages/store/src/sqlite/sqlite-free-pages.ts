import type { DatabaseSync } from 'node:sqlite';

/** 4 MiB, which the next writes use again. */
const KEPT_PAGES = 1024;
/** One step holds the lock only briefly. */
const RELEASED_PAGES = 256;
const INCREMENTAL = 2;

export interface FreePages {
  /** Gives some free pages back to the file system. Returns whether there are more to give back. */
  release(): boolean;
}

/** Does nothing for a file of an earlier version, because only a complete VACUUM could convert it. */
export function createFreePages(database: DatabaseSync): FreePages {
  const count = database.prepare('PRAGMA freelist_count');
  const mode = database.prepare('PRAGMA auto_vacuum').get()?.auto_vacuum;
  return {
    release() {
      if (mode !== INCREMENTAL) {
        return false;
      }
      try {
        const free = Number(count.get()?.freelist_count);
        if (free <= KEPT_PAGES) {
          return false;
        }
        database.exec(`PRAGMA incremental_vacuum(${RELEASED_PAGES})`);
        return free > KEPT_PAGES + RELEASED_PAGES;
      } catch {
        // As in the sweep: the next one retries.
        return false;
      }
    },
  };
}
