import type { RequestHandler, Response, Router } from 'express';
import { sendErrorPage } from './error-page.ts';

/** A page for a method that the routes of this router do not have. */
export function rejectMethods(router: Pick<Router, 'stack'>): RequestHandler {
  return rejectOtherMethods(router, (request, response) =>
    sendErrorPage(request, response, 405, 'methodNotAllowed'),
  );
}

/** The part of a router's layer that lists the methods of a path. */
interface Layer {
  readonly route?: { readonly methods: Readonly<Record<string, boolean>> };
  match(path: string): boolean;
}

/**
 * RFC 9110 §15.5.6: a path that exists for other methods is 405, and `Allow` names them. Mount it
 * after all routes of the router.
 */
export function rejectOtherMethods(
  router: Pick<Router, 'stack'>,
  reject: (...parameters: Parameters<RequestHandler>) => void,
): RequestHandler {
  return (request, response, next) => {
    const methods = (router.stack as unknown as readonly Layer[])
      .filter((layer) => layer.route !== undefined && layer.match(request.path))
      .flatMap((layer) => Object.keys(layer.route?.methods ?? {}));
    if (methods.length === 0) {
      next();
      return;
    }
    setAllow(response, methods);
    reject(request, response, next);
  };
}

function setAllow(response: Response, methods: readonly string[]): void {
  const names = methods.map((method) => method.toUpperCase());
  const allowed = new Set(names.flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name])));
  response.set('Allow', [...allowed].sort().join(', '));
}
