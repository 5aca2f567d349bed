import { ApiError, failureEnvelope, serviceUnavailable, toApiError } from '@gatehouse/api-envelope';
import { observedRequest } from '@gatehouse/http-server';
import type { ErrorRequestHandler, RequestHandler } from 'express';
import { DatabaseUnavailableError } from '../database/database-unavailable-error.ts';

export const rejectUnknownRoute: RequestHandler = () => {
  throw new ApiError('not_found', { reason: 'operation_unknown' });
};

/**
 * Writes every error reply. The reply has the message of the error catalog; the log has the cause.
 * `X-Failure` tells the gateway code and reason, for its log and the request log.
 */
export function replyFailures(now: () => number): ErrorRequestHandler {
  return (thrown, request, response, _next) => {
    const error = asApiError(thrown);
    const { notes } = observedRequest(request);
    notes.code = error.code;
    notes.reason = error.reason;
    if (error.status >= 500) {
      notes.err = error.cause ?? error;
    }
    if (response.headersSent) {
      response.destroy();
      return;
    }
    response
      .status(error.status)
      .set(error.headers)
      .set('X-Failure', `${error.code} ${error.reason}`)
      .json(failureEnvelope(error, now()));
  };
}

function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof DatabaseUnavailableError) {
    return serviceUnavailable(thrown, 'database_unavailable');
  }
  // The router throws it for a path that cannot be percent-decoded.
  if (thrown instanceof URIError) {
    return new ApiError('illegal_argument', {
      message: 'The path is not valid.',
      cause: thrown,
      reason: 'target_invalid',
    });
  }
  return toApiError(thrown);
}
