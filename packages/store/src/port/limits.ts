/** The deadline of an engine. The port guarantees 500 ms. The difference allows for late timers. */
export const OPERATION_DEADLINE_MILLISECONDS = 450;

const LONGEST_LIFETIME_SECONDS = 1e11;

/**
 * Converts a lifetime to milliseconds. It rejects a lifetime that is not positive instead of
 * rounding it: if a claim expired immediately, every caller would win.
 */
export function lifetimeMilliseconds(seconds: number): number {
  if (!(seconds > 0 && seconds <= LONGEST_LIFETIME_SECONDS)) {
    throw new RangeError(`A lifetime must be a positive number of seconds, not ${seconds}.`);
  }
  return Math.ceil(seconds * 1000);
}

/** Rejects an expiry that an engine would store as a different number. */
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
