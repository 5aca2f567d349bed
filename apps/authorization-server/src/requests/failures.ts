import type { FailureReasonName } from '@gatehouse/errors';
import { PasswordHashingBusyError } from '@gatehouse/identity';
import { StoreUnavailableError } from '@gatehouse/store';

export const TRY_AGAIN = 'Try again shortly.';

/**
 * The request can succeed later. Beyond a limit, nothing is evaluated, so the reply reveals nothing
 * about the account or the client. After a revocation, tokens that are issued until the end of its
 * second would be invalid at once (`nextNotBefore` of packages/identity).
 */
export class TryLaterError extends Error {
  /** For `Retry-After`. */
  readonly retryAfterSeconds: number;
  /** The limit. For the log only. */
  readonly reason: FailureReasonName;

  /** @param from when the request can succeed, in epoch milliseconds */
  constructor(reason: FailureReasonName, from: number, message = 'Too many attempts.') {
    super(message);
    this.name = 'TryLaterError';
    this.reason = reason;
    this.retryAfterSeconds = Math.max(1, Math.ceil((from - Date.now()) / 1000));
  }
}

export type Failure = ReturnType<typeof failureOf>;

/** The failure for an exception that is no error of the library. */
export function failureOf(thrown: unknown) {
  const unavailable = { status: 503, code: 'temporarily_unavailable' };
  if (thrown instanceof TryLaterError) {
    const { reason, message, retryAfterSeconds } = thrown;
    if (reason === 'revocation_pending') {
      return { ...unavailable, reason, description: `${message} ${TRY_AGAIN}`, retryAfterSeconds };
    }
    const description = `${message} Try again later.`;
    return { status: 429, code: 'too_many_requests', reason, description, retryAfterSeconds };
  }
  const isHashingBusy = thrown instanceof PasswordHashingBusyError;
  if (thrown instanceof StoreUnavailableError || isHashingBusy) {
    const reason: FailureReasonName = isHashingBusy ? 'password_hashing_busy' : 'store_unavailable';
    const description = `The service is temporarily unavailable. ${TRY_AGAIN}`;
    return { ...unavailable, reason, description, retryAfterSeconds: 1 };
  }
  const reason = 'unexpected_error' as const;
  return { status: 500, code: 'server_error', reason, description: TRY_AGAIN };
}
