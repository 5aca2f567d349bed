import { observedRequest } from '@gatehouse/http-server';
import { StoreUnavailable } from '@gatehouse/store';
import type { ErrorRequestHandler } from 'express';
import { failureBody } from '../http/failure-body.ts';
import { isPlatformRequest } from '../http/platform-requests.ts';
import { replyHeaders } from './reply.ts';

/** What fails before the provider is reached is JSON at these endpoints, too; the cause goes to the log. */
export const answerClientEndpointErrors: ErrorRequestHandler = (error, request, response, next) => {
  if (response.headersSent) {
    next(error);
    return;
  }
  if (request.socket.destroyed) {
    // The caller left in the middle of the body: not our failure, and nobody to answer.
    return;
  }
  const unavailable = error instanceof StoreUnavailable;
  const status = unavailable ? 503 : 500;
  const failure = {
    error: unavailable ? 'temporarily_unavailable' : 'server_error',
    error_description: 'The service is unavailable for the moment. Try again shortly.',
  };
  const { notes } = observedRequest(request);
  notes.code = failure.error;
  notes.err = error;
  response.status(status).set({ ...replyHeaders, 'Retry-After': '1', Connection: 'close' });
  response.end(
    JSON.stringify(isPlatformRequest(request) ? failureBody(status, failure, Date.now()) : failure),
  );
};
