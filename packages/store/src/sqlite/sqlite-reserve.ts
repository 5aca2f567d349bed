import { statfsSync } from 'node:fs';

/** Room on the disk for some thousand revocations. SQLite's write-ahead log takes up to half of it. */
export const RESERVE_BYTES: number = 8 * 1024 * 1024;
const CHECK_AGAIN_MILLISECONDS = 10;

export const reserveReason =
  'Less than 8 MiB are free on the file system of the store. Only revocations are written. Free space there.';

/**
 * Whether the file system has only the reserve left, which ordinary writes must leave to revocations. Looked up every
 * 10 ms: a burst in between is far smaller than the reserve.
 */
export function createReserve(path: string): () => boolean {
  let checkedAt = Number.NEGATIVE_INFINITY;
  let isReached = false;
  return () => {
    if (performance.now() - checkedAt > CHECK_AGAIN_MILLISECONDS) {
      checkedAt = performance.now();
      const { blocks, bavail, bsize } = statfsSync(path);
      // A file system that does not report its size reports none at all.
      isReached = blocks > 0 && bavail * bsize < RESERVE_BYTES;
    }
    return isReached;
  };
}
