/**
 * Owns HTTP: who calls, what a body or parameter says, and how a reply is written.
 *
 *   reply-headers ─▶ authenticate (internal-token, remembered) ─▶ mount-routes: scope ─▶ …-handlers ─▶ envelope
 *                                                                     any failure ─▶ reply-failures ─▶ envelope
 *
 * What a device is, and what may happen to it, is not here: handlers call one function of the domain each.
 */
import { ApiError, successEnvelope } from '@gatehouse/api-envelope';
import { observedRequest } from '@gatehouse/http-server';
import type { Express, Request, RequestHandler } from 'express';
import { assertScope, callerOf } from './authenticate.ts';
import type { Caller } from './internal-token.ts';

/** What a handler answers: the envelope around it is written in one place. */
export interface Reply {
  readonly result: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** The name in the log, instead of a URL. */
  readonly operation: string;
  readonly scope: string;
  readonly handle: (request: Request, caller: Caller) => Promise<Reply>;
}

const expressMethods = { GET: 'get', POST: 'post', PATCH: 'patch', DELETE: 'delete' } as const;

/** Mounts the table: scope check and envelope for every route, 405 with `Allow` for every other method. */
export function mountRoutes(app: Express, routes: readonly Route[], now: () => number): void {
  for (const [path, ofPath] of Map.groupBy(routes, (route) => route.path)) {
    const mounted = app.route(path);
    for (const route of ofPath) {
      mounted[expressMethods[route.method]](answer(route, now));
    }
    mounted.all(refuseMethod(ofPath));
  }
}

function answer(route: Route, now: () => number): RequestHandler {
  return async (request, response) => {
    observedRequest(request).notes.operation = route.operation;
    const caller = callerOf(request);
    assertScope(caller, route.scope);
    const { result, headers = {} } = await route.handle(request, caller);
    response.set(headers).json(successEnvelope(result, now()));
  };
}

function refuseMethod(routes: readonly Route[]): RequestHandler {
  const methods = routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  const headers = { Allow: methods.join(', ') };
  return () => {
    throw new ApiError('method_not_allowed', { headers });
  };
}
