const SECOND = 1000;

export const DEFAULT_TIMESTAMP_TOLERANCE_MILLISECONDS: number = 300 * SECOND;

/**
 * Exactly 13 digits, the first not 0: nothing separates the signed text from the timestamp, so
 * `pageSize=20`+`1574993804802` and `pageSize=2`+`01574993804802` would sign alike.
 */
const TIMESTAMP = /^[1-9][0-9]{12}$/;

/** Epoch milliseconds of an `X-Timestamp`, or undefined when it is malformed. */
export function parseTimestamp(text: string): number | undefined {
  return TIMESTAMP.test(text) ? Number(text) : undefined;
}

/** Whether a timestamp is close enough to the verifier's clock, in either direction. */
export function isTimely(
  timestamp: number,
  now: number,
  toleranceMs: number = DEFAULT_TIMESTAMP_TOLERANCE_MILLISECONDS,
): boolean {
  return Math.abs(timestamp - now) <= toleranceMs;
}
