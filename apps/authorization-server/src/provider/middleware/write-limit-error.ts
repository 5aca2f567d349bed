import { PasswordHashingBusy } from '@gatehouse/identity';
import { StoreUnavailable } from '@gatehouse/store';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { renderErrorPage } from '../../pages/error-page.ts';
import { TooManyAttemptsError } from '../../throttle/too-many-attempts-error.ts';

interface Refusal {
  readonly status: 429 | 503;
  readonly error: 'too_many_requests' | 'temporarily_unavailable';
  readonly error_description: string;
  readonly retryAfterSeconds: number;
}

/** What our own parts throw into the library, which knows it as `server_error` 500 only; undefined for all else. */
export function toRefusal(thrown: unknown): Refusal | undefined {
  if (thrown instanceof TooManyAttemptsError) {
    return {
      status: 429,
      error: 'too_many_requests',
      error_description: `${thrown.message} Try again later.`,
      retryAfterSeconds: thrown.retryAfterSeconds,
    };
  }
  return thrown instanceof StoreUnavailable || thrown instanceof PasswordHashingBusy
    ? {
        status: 503,
        error: 'temporarily_unavailable',
        error_description: 'The service is unavailable for the moment. Try again shortly.',
        retryAfterSeconds: 1,
      }
    : undefined;
}

/**
 * Replaces the library's 500 before it is written. Where it has chosen to redirect, the error is on its way to the
 * application already.
 */
export function answerRefusal(context: KoaContextWithOIDC, refusal: Refusal): void {
  if (context.status < 500) {
    return;
  }
  const { status, error, error_description, retryAfterSeconds } = refusal;
  context.status = status;
  context.set('Retry-After', String(retryAfterSeconds));
  if (context.accepts('json', 'html') === 'html') {
    renderErrorPage(context, { error, error_description });
  } else {
    context.body = { error, error_description };
  }
}
