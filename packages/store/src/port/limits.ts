/** How long an engine may take. The port promises 500 ms; the rest is for timers that fire late. */
export const OPERATION_DEADLINE_MILLISECONDS = 450;

const LONGEST_LIFETIME_SECONDS = 1e11;

/**
 * A lifetime in milliseconds, for the engines. One that is not positive is rejected instead of rounded:
 * with a claim that expires at once, every caller would win.
 */
export function lifetimeMilliseconds(seconds: number): number {
  if (!(seconds > 0 && seconds <= LONGEST_LIFETIME_SECONDS)) {
    throw new RangeError(`A lifetime must be a positive number of seconds, not ${seconds}.`);
  }
  return Math.ceil(seconds * 1000);
}

/** Epoch milliseconds of an index member; also refuses what an engine would store as something else. */
export function assertEpochMilliseconds(expiresAt: number): void {
  if (!Number.isSafeInteger(expiresAt)) {
    throw new RangeError(`An expiry must be whole epoch milliseconds, not ${expiresAt}.`);
  }
}

export function assertPositiveInteger(name: string, value: number): void {
  if (!(Number.isSafeInteger(value) && value > 0)) {
    throw new RangeError(`${name} must be a positive integer, not ${value}.`);
  }
}
