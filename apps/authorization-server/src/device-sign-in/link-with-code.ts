import type { RequestHandler } from 'express';

/**
 * `verification_uri_complete` (RFC 8628 §3.3.1): the library would reply with a form that submits
 * itself with an inline script. Without the code in the address, it shows its form, which the page
 * fills in from `originalUrl`.
 */
export const linkWithCode: RequestHandler = (request, _response, next) => {
  request.url = request.path;
  next();
};
