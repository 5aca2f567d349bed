import type { FailureReasonName } from '@gatehouse/errors';

/** Thrown before anything is evaluated, so it reveals nothing about the account or the client. */
export class TooManyAttemptsError extends Error {
  /** For `Retry-After`. */
  readonly retryAfterSeconds: number;
  /** The limit. For the log only. */
  readonly reason: FailureReasonName;

  constructor(
    reason: FailureReasonName,
    resetsAt: number,
    now: number,
    message = 'Too many attempts.',
  ) {
    super(message);
    this.name = 'TooManyAttemptsError';
    this.reason = reason;
    this.retryAfterSeconds = Math.max(1, Math.ceil((resetsAt - now) / 1000));
  }
}

/**
 * After a revocation, tokens that are issued until the end of its second would be invalid at once
 * (`nextNotBefore` of packages/identity). The request gets 503 until then.
 */
export class RevocationPendingError extends Error {
  readonly retryAfterSeconds: number;

  constructor(validFrom: number, now: number) {
    super('A revocation is taking effect. Try again shortly.');
    this.name = 'RevocationPendingError';
    this.retryAfterSeconds = Math.max(1, Math.ceil((validFrom - now) / 1000));
  }
}
