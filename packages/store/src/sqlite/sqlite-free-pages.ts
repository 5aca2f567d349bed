import type { DatabaseSync } from 'node:sqlite';

/** 4 MiB, which the next writes use again. */
const KEPT_PAGES = 1024;
/** 256 KiB. A few pages become free all the time, and are not worth a step. */
const KEPT_PAGES_WHEN_IDLE = 64;
/** One step holds the lock only briefly. */
const RELEASED_PAGES = 256;
const INCREMENTAL = 2;

export interface FreePages {
  /**
   * Gives some free pages back to the file system, and the write-ahead log if the store is idle.
   * Returns whether there are more pages to give back.
   */
  release(isIdle: boolean): boolean;
}

/** Does nothing for a file of an earlier version, because only a complete VACUUM could convert it. */
export function createFreePages(database: DatabaseSync): FreePages {
  const count = database.prepare('PRAGMA freelist_count');
  const mode = database.prepare('PRAGMA auto_vacuum').get()?.auto_vacuum;
  const truncateLog = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)');
  let isLogLarge = true;

  function releasePages(kept: number): boolean {
    const free = Number(count.get()?.freelist_count);
    if (free <= kept) {
      return false;
    }
    database.exec(`PRAGMA incremental_vacuum(${RELEASED_PAGES})`);
    return free > kept + RELEASED_PAGES;
  }

  return {
    release(isIdle) {
      if (mode !== INCREMENTAL) {
        return false;
      }
      isLogLarge ||= !isIdle;
      try {
        const hasMore = releasePages(isIdle ? KEPT_PAGES_WHEN_IDLE : KEPT_PAGES);
        if (isIdle && !hasMore && isLogLarge) {
          // busy is 1 while another process uses the log.
          isLogLarge = truncateLog.get()?.busy !== 0;
        }
        return hasMore;
      } catch {
        // As in the sweep: the next one retries.
        return false;
      }
    },
  };
}
