import type { RequestHandler, Router } from 'express';
import { rejectOtherMethods } from '../http/reject-other-methods.ts';
import { sendErrorPage } from './error-page.ts';

/** A page for a method that the routes of this router do not have. */
export function rejectMethods(router: Pick<Router, 'stack'>): RequestHandler {
  return rejectOtherMethods(router, (request, response) =>
    sendErrorPage(request, response, 405, 'methodNotAllowed'),
  );
}
