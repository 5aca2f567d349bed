import type { FailureReasonName } from '@gatehouse/errors';
import { PasswordHashingBusyError } from '@gatehouse/identity';
import { StoreUnavailableError } from '@gatehouse/store';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { renderErrorPage } from '../../pages/error-page.ts';
import {
  RevocationPendingError,
  TooManyAttemptsError,
} from '../../throttle/too-many-attempts-error.ts';

interface LimitError {
  readonly status: 429 | 503;
  readonly error: 'too_many_requests' | 'temporarily_unavailable';
  readonly reason: FailureReasonName;
  readonly error_description: string;
  readonly retryAfterSeconds: number;
}

/**
 * The error for an exception that the library would report as `server_error` 500; undefined for all
 * others.
 */
export function toLimitError(thrown: unknown): LimitError | undefined {
  if (thrown instanceof TooManyAttemptsError) {
    return {
      status: 429,
      error: 'too_many_requests',
      reason: thrown.reason,
      error_description: `${thrown.message} Try again later.`,
      retryAfterSeconds: thrown.retryAfterSeconds,
    };
  }
  if (thrown instanceof RevocationPendingError) {
    return {
      status: 503,
      error: 'temporarily_unavailable',
      reason: 'revocation_pending',
      error_description: thrown.message,
      retryAfterSeconds: thrown.retryAfterSeconds,
    };
  }
  return thrown instanceof StoreUnavailableError || thrown instanceof PasswordHashingBusyError
    ? {
        status: 503,
        error: 'temporarily_unavailable',
        reason:
          thrown instanceof StoreUnavailableError ? 'store_unavailable' : 'password_hashing_busy',
        error_description: 'The service is temporarily unavailable. Try again shortly.',
        retryAfterSeconds: 1,
      }
    : undefined;
}

/**
 * Replaces the library's 500 before it is written. If the library redirects instead, the
 * application already gets the error.
 */
export function writeLimitError(context: KoaContextWithOIDC, error: LimitError): void {
  if (context.status < 500) {
    return;
  }
  const { status, error: code, error_description, retryAfterSeconds } = error;
  context.status = status;
  context.set('Retry-After', String(retryAfterSeconds));
  if (context.accepts('json', 'html') === 'html') {
    renderErrorPage(context, { error: code, error_description });
  } else {
    context.body = { error: code, error_description };
  }
}
