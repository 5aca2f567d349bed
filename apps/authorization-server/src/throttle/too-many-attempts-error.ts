import type { FailureReasonName } from '@gatehouse/failure-reasons';

/** Thrown before anything is evaluated, so it reveals nothing about the account or the client. */
export class TooManyAttemptsError extends Error {
  /** For `Retry-After`. */
  readonly retryAfterSeconds: number;
  /** The limit. For the log only. */
  readonly reason: FailureReasonName;

  constructor(reason: FailureReasonName, resetsAt: number, now: number) {
    super('Too many attempts.');
    this.name = 'TooManyAttemptsError';
    this.reason = reason;
    this.retryAfterSeconds = Math.max(1, Math.ceil((resetsAt - now) / 1000));
  }
}
