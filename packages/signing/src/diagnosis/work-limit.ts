export const MAXIMUM_DIGESTS = 24;
export const MAXIMUM_SIGNED_BYTES: number = 64 * 1024;

/** Longer texts are not written in other ways, because writing them costs more than the digest. */
export const MAXIMUM_SPELLED_LENGTH: number = 8 * 1024;

/** Bounds the work for one request. It counts only what the request determines, never keys. */
export interface WorkLimit {
  /** Whether so many digests over so many bytes are still allowed. Counts them if they are. */
  take(digests: number, bytes: number): boolean;
}

export function createWorkLimit(): WorkLimit {
  let digestsLeft = MAXIMUM_DIGESTS;
  let bytesLeft = MAXIMUM_SIGNED_BYTES;
  return {
    take(digests, bytes) {
      if (digests > digestsLeft || bytes > bytesLeft) {
        return false;
      }
      digestsLeft -= digests;
      bytesLeft -= bytes;
      return true;
    },
  };
}
