import { statfsSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import type { DatabaseSync } from 'node:sqlite';
import type { StoreRoom } from '../store.ts';
import { inTransaction } from './sqlite-database.ts';
import { type SqliteStatements, SWEEP_ROWS } from './sqlite-statements.ts';

const PAUSE_MILLISECONDS = 1000;
const PAUSE_WHEN_BEHIND_MILLISECONDS = 20;
/** 4 MiB of free pages, which the next writes use again. */
const KEPT_PAGES = 1024;
/** One step holds the lock only briefly. */
const RELEASED_PAGES = 256;
const INCREMENTAL = 2;

/**
 * Removes expired rows in small steps, more often while there is a backlog, and gives free pages
 * back to the file system. This only frees space, because reads never return expired rows. A file of
 * an early version does not shrink, because only a complete VACUUM could convert it.
 *
 * @returns a function that stops the sweep
 */
export function startSweeping(
  database: DatabaseSync,
  statements: SqliteStatements,
  now: () => number,
): () => void {
  const canShrink = database.prepare('PRAGMA auto_vacuum').get()?.auto_vacuum === INCREMENTAL;
  const freePages = database.prepare('PRAGMA freelist_count');
  let next = setTimeout(sweep, PAUSE_MILLISECONDS).unref();

  function releasePages(): boolean {
    const free = canShrink ? Number(freePages.get()?.freelist_count) : 0;
    if (free > KEPT_PAGES) {
      database.exec(`PRAGMA incremental_vacuum(${RELEASED_PAGES})`);
    }
    return free > KEPT_PAGES + RELEASED_PAGES;
  }

  function sweep(): void {
    let isBehind = false;
    try {
      const removed = inTransaction(database, () =>
        statements.sweep.map((statement) => Number(statement.run(now()).changes)),
      );
      isBehind = removed.includes(SWEEP_ROWS) || releasePages();
    } catch {
      // The file is locked or unavailable. Operations of the store report that, and the next sweep
      // retries.
    }
    const pause = isBehind ? PAUSE_WHEN_BEHIND_MILLISECONDS : PAUSE_MILLISECONDS;
    next = setTimeout(sweep, pause).unref();
  }

  return () => clearTimeout(next);
}

/** Disk space for several thousand revocations. SQLite's write-ahead log uses up to half of it. */
const RESERVE_BYTES = 8 * 1024 * 1024;
const CHECK_AGAIN_MILLISECONDS = 10;

export const reserveReason =
  'Less than 8 MiB are free on the file system of the store, so it writes only revocations. ' +
  'Free disk space.';

/**
 * Returns a function that reports whether the file system has only the reserve left, which is for
 * revocations. It checks at most every 10 ms. A burst of writes in between is far smaller than the
 * reserve.
 */
export function createReserve(path: string): () => boolean {
  let checkedAt = Number.NEGATIVE_INFINITY;
  let isReached = false;
  return () => {
    if (performance.now() - checkedAt > CHECK_AGAIN_MILLISECONDS) {
      checkedAt = performance.now();
      const { blocks, bavail, bsize } = statfsSync(path);
      // A file system that does not know its size reports zero blocks.
      isReached = blocks > 0 && bavail * bsize < RESERVE_BYTES;
    }
    return isReached;
  };
}

/**
 * The size of the store's file, and the size that it can reach with the free space of its file
 * system, without the reserve for revocations. The used share of the whole disk would mean less: if
 * other files fill 85 % of a disk, the rest may still last the store for years.
 */
export async function readSqliteRoom(path: string): Promise<StoreRoom> {
  const sizeOf = (file: string) => stat(file).catch(() => ({ size: 0 }));
  const [file, log] = await Promise.all([sizeOf(path), sizeOf(`${path}-wal`)]);
  const { bavail, bsize } = await statfs(path);
  const usedBytes = file.size + log.size;
  return {
    usedBytes,
    maximumBytes: usedBytes + Math.max(0, bavail * bsize - RESERVE_BYTES),
    servers: [{ version: process.versions.sqlite ?? 'unknown', time: Date.now() }],
  };
}
