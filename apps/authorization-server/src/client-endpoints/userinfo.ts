import { observedRequest, type RequestNotes } from '@gatehouse/server';
import type { RequestHandler } from 'express';

/** OpenID Connect Core §5.3: GET and POST, with a bearer token; errors are JSON. */
export const userinfoEndpoint: RequestHandler = (request, response, next) => {
  request.headers.accept = 'application/json';
  if (request.method === 'GET' || request.method === 'POST') {
    response.set('Cache-Control', 'no-store');
    next();
    return;
  }
  Object.assign(observedRequest(request).notes, {
    code: 'invalid_request',
    reason: 'method_not_allowed',
  } satisfies RequestNotes);
  response.status(405).set({ Allow: 'GET, POST', 'Cache-Control': 'no-store' }).end();
};
