import { ApiError, failureEnvelope, serviceUnavailable, toApiError } from '@gatehouse/api-envelope';
import { observedRequest } from '@gatehouse/http-server';
import type { ErrorRequestHandler, RequestHandler } from 'express';
import { DatabaseUnavailable } from '../database/database-unavailable.ts';

export const rejectUnknownRoute: RequestHandler = () => {
  throw new ApiError('not_found');
};

/** The one place that answers a failure. The caller gets the catalogue's words, the log gets the cause. */
export function replyFailures(now: () => number): ErrorRequestHandler {
  return (thrown, request, response, _next) => {
    const error = toCatalogue(thrown);
    const { notes } = observedRequest(request);
    notes.code = error.code;
    if (error.status >= 500) {
      notes.err = error.cause ?? error;
    }
    if (response.headersSent) {
      response.destroy();
      return;
    }
    response.status(error.status).set(error.headers).json(failureEnvelope(error, now()));
  };
}

function toCatalogue(thrown: unknown): ApiError {
  if (thrown instanceof DatabaseUnavailable) {
    return serviceUnavailable(thrown);
  }
  // The router's own complaint about a path that cannot be percent-decoded.
  if (thrown instanceof URIError) {
    return new ApiError('illegal_argument', { message: 'The path is not valid.', cause: thrown });
  }
  return toApiError(thrown);
}
