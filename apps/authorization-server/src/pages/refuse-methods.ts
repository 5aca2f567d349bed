import type { RequestHandler, Router } from 'express';
import { refuseOtherMethods } from '../http/refuse-other-methods.ts';
import { sendErrorPage } from './error-page.ts';

/** A page for a method that the routes of this router do not have. */
export function refuseMethods(router: Pick<Router, 'stack'>): RequestHandler {
  return refuseOtherMethods(router, (request, response) =>
    sendErrorPage(request, response, 405, 'methodNotAllowed'),
  );
}
