import { observedRequest } from '@gatehouse/http-server';
import type { Request, RequestHandler, Response } from 'express';
import { tokenReplyHeaders } from './token-reply.ts';

/** The transport rules of RFC 6749 §3.2 that the library leaves to its surroundings. */
export const tokenTransport: RequestHandler = (request, response, next) => {
  // Errors are JSON whatever the caller would rather see (RFC 6749 §5.2).
  request.headers.accept = 'application/json';
  if (request.method !== 'POST') {
    response.set('Allow', 'POST');
    refuse(request, response, 405, 'The token endpoint answers POST only.');
    return;
  }
  // Node keeps the first of two and drops the other silently: RFC 9110 §5.3 allows one.
  if (countHeader(request, 'authorization') > 1) {
    refuse(request, response, 400, 'Send one Authorization header.');
    return;
  }
  next();
};

function refuse(request: Request, response: Response, status: number, description: string): void {
  observedRequest(request).notes.code = 'invalid_request';
  response
    .status(status)
    .set(tokenReplyHeaders)
    .end(JSON.stringify({ error: 'invalid_request', error_description: description }));
}

function countHeader(request: Request, name: string): number {
  return request.rawHeaders.filter((text, i) => i % 2 === 0 && text.toLowerCase() === name).length;
}
