import { statfsSync } from 'node:fs';

/** Disk space for several thousand revocations. SQLite's write-ahead log uses up to half of it. */
export const RESERVE_BYTES: number = 8 * 1024 * 1024;
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
