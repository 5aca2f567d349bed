import { illegalArgument } from '@gatehouse/api-envelope';
import { transferEncodingProblem } from '@gatehouse/http-server';
import type { RequestHandler } from 'express';

/**
 * Request smuggling: a caller and this service could disagree about where a body ends, for example
 * with `Transfer-Encoding` in HTTP/1.0 (RFC 9112 §6.1). The connection closes after the reply.
 */
export const rejectAmbiguousFraming: RequestHandler = (request, response, next) => {
  const message = transferEncodingProblem(request);
  if (message !== undefined) {
    response.set('Connection', 'close');
    throw illegalArgument([{ property: 'Transfer-Encoding', message }], 'framing_ambiguous');
  }
  next();
};
