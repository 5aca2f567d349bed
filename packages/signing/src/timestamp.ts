const SECOND = 1000;

export const DEFAULT_TIMESTAMP_TOLERANCE_MILLISECONDS: number = 300 * SECOND;

/**
 * Exactly 13 digits without a leading zero. Nothing separates the signed text from the timestamp,
 * so `pageSize=20` + `1574993804802` and `pageSize=2` + `01574993804802` would have the same
 * signature.
 */
const TIMESTAMP = /^[1-9][0-9]{12}$/;

/** The epoch milliseconds in an `X-Timestamp`, or undefined if it is malformed. */
export function parseTimestamp(text: string): number | undefined {
  return TIMESTAMP.test(text) ? Number(text) : undefined;
}

/** Whether a timestamp differs from the verifier's clock by at most the tolerance. */
export function isTimely(
  timestamp: number,
  now: number,
  toleranceMilliseconds: number = DEFAULT_TIMESTAMP_TOLERANCE_MILLISECONDS,
): boolean {
  return Math.abs(timestamp - now) <= toleranceMilliseconds;
}
