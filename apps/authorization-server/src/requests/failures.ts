import type { FailureReasonName } from '@gatehouse/errors';
import { PasswordHashingBusyError } from '@gatehouse/identity';
import { StoreUnavailableError } from '@gatehouse/store';

export const TRY_AGAIN = 'Try again shortly.';

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

export interface Failure {
  readonly status: 429 | 500 | 503;
  readonly code: 'too_many_requests' | 'temporarily_unavailable' | 'server_error';
  readonly reason: FailureReasonName;
  readonly description: string;
  readonly retryAfterSeconds?: number;
}

/** The failure for an exception that is no error of the library. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof TooManyAttemptsError) {
    const { reason, message, retryAfterSeconds } = thrown;
    const description = `${message} Try again later.`;
    return { status: 429, code: 'too_many_requests', reason, description, retryAfterSeconds };
  }
  const unavailable = { status: 503, code: 'temporarily_unavailable' } as const;
  if (thrown instanceof RevocationPendingError) {
    const { message: description, retryAfterSeconds } = thrown;
    return { ...unavailable, reason: 'revocation_pending', description, retryAfterSeconds };
  }
  const isHashingBusy = thrown instanceof PasswordHashingBusyError;
  if (thrown instanceof StoreUnavailableError || isHashingBusy) {
    const reason = isHashingBusy ? 'password_hashing_busy' : 'store_unavailable';
    const description = `The service is temporarily unavailable. ${TRY_AGAIN}`;
    return { ...unavailable, reason, description, retryAfterSeconds: 1 };
  }
  return {
    status: 500,
    code: 'server_error',
    reason: 'unexpected_error',
    description: TRY_AGAIN,
  };
}
