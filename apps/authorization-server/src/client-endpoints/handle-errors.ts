import { observedRequest } from '@gatehouse/server';
import { StoreUnavailableError } from '@gatehouse/store';
import type { ErrorRequestHandler } from 'express';
import { failureBody } from '../http/failure-body.ts';
import { isPlatformRequest } from '../http/platform-requests.ts';
import { replyHeaders } from './reply.ts';

/** Errors before the provider are JSON at these endpoints as well. The cause goes to the log. */
export const handleClientEndpointErrors: ErrorRequestHandler = (error, request, response, next) => {
  if (response.headersSent) {
    next(error);
    return;
  }
  if (request.socket.destroyed) {
    // The caller disconnected within the body.
    return;
  }
  const unavailable = error instanceof StoreUnavailableError;
  const status = unavailable ? 503 : 500;
  const failure = {
    error: unavailable ? 'temporarily_unavailable' : 'server_error',
    error_description: 'The service is temporarily unavailable. Try again shortly.',
  };
  const { notes } = observedRequest(request);
  notes.code = failure.error;
  notes.reason = unavailable ? 'store_unavailable' : 'unexpected_error';
  notes.err = error;
  response.status(status).set({ ...replyHeaders, 'Retry-After': '1', Connection: 'close' });
  response.end(
    JSON.stringify(isPlatformRequest(request) ? failureBody(status, failure, Date.now()) : failure),
  );
};
