import { observedRequest } from '@gatehouse/server';
import { StoreUnavailableError } from '@gatehouse/store';
import { renderErrorPage } from '../../pages/error-page.ts';
import { TemporarilyUnavailableError } from '../adapters/temporarily-unavailable-error.ts';
import type { ProviderMiddleware } from './provider-middleware.ts';

/**
 * Handles errors that escape the library. Koa would reply without Gatehouse's headers and print the
 * error to stderr. An unavailable store is 503 here as everywhere.
 */
export const handleUnexpectedErrors: ProviderMiddleware = async (context, next) => {
  try {
    await next();
  } catch (error) {
    const unavailable =
      error instanceof StoreUnavailableError || error instanceof TemporarilyUnavailableError;
    const { notes } = observedRequest(context.req);
    notes.code = unavailable ? 'temporarily_unavailable' : 'server_error';
    notes.reason = unavailable ? 'store_unavailable' : 'unexpected_error';
    notes.err = error instanceof TemporarilyUnavailableError ? error.cause : error;
    context.status = unavailable ? 503 : 500;
    const answer = { error: notes.code, error_description: 'Try again shortly.' };
    if (unavailable) {
      context.set('Retry-After', '1');
    }
    if (context.accepts('json', 'html') === 'html') {
      renderErrorPage(context, answer);
    } else {
      context.body = answer;
    }
  }
};
