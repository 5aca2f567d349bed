import type { RequestHandler } from 'express';

/**
 * `verification_uri_complete` (RFC 8628 §3.3.1): the library would answer with a form that submits itself by an inline
 * script. Without the code in the address it shows the form, and the page fills in the code from `originalUrl`.
 */
export const linkWithCode: RequestHandler = (request, _response, next) => {
  request.url = request.path;
  next();
};
