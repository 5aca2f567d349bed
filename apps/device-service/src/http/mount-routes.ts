/**
 * The HTTP interface: it authenticates requests, parses them, and writes replies.
 *
 *   reply-headers ─▶ authenticate (internal-token, cached) ─▶ mount-routes: scope ─▶ …-handlers ─▶ envelope
 *                                                        any failure ─▶ reply-failures ─▶ envelope
 *
 * The rules of the domain are not here: each handler calls one function of it.
 */
import { ApiError, successEnvelope } from '@gatehouse/api-envelope';
import {
  type Operation,
  type OperationMethod,
  type OperationName,
  type OperationRoute,
  routes,
} from '@gatehouse/device-api';
import { observedRequest } from '@gatehouse/http-server';
import type { Express, Request, RequestHandler } from 'express';
import { assertScope, callerOf } from './authenticate.ts';
import type { Caller } from './internal-token.ts';

/** `answer` writes the envelope around the result. */
export interface Reply {
  readonly result: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Handler = (request: Request, caller: Caller) => Promise<Reply>;

/** The compiler reports an operation without a handler. */
export type Handlers = Readonly<Record<OperationName, Handler>>;

const expressMethods: Readonly<Record<OperationMethod, 'get' | 'post' | 'patch' | 'delete'>> = {
  GET: 'get',
  POST: 'post',
  PATCH: 'patch',
  DELETE: 'delete',
};

/**
 * Mounts every route of the device API. A known path answers other methods with 405 and `Allow`.
 */
export function mountRoutes(app: Express, handlers: Handlers, now: () => number): void {
  for (const [path, ofPath] of Map.groupBy(routes, (route) => route.path)) {
    const mounted = app.route(path.replaceAll(/\{(\w+)\}/g, ':$1'));
    for (const { method, operation } of ofPath) {
      mounted[expressMethods[method]](answer(operation, handlers[operation.name], now));
    }
    mounted.all(rejectMethod(ofPath));
  }
}

function answer(operation: Operation, handle: Handler, now: () => number): RequestHandler {
  return async (request, response) => {
    observedRequest(request).notes.operation = operation.name;
    const caller = callerOf(request);
    assertScope(caller, operation.scope);
    const { result, headers = {} } = await handle(request, caller);
    const body = JSON.stringify(successEnvelope(result, now()));
    // Node writes a text together with the headers. `json` would convert it to bytes first.
    response.set(headers);
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    response.setHeader('Content-Length', Buffer.byteLength(body));
    response.end(body);
  };
}

function rejectMethod(ofPath: readonly OperationRoute[]): RequestHandler {
  const methods = ofPath.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  const headers = { Allow: methods.join(', ') };
  return () => {
    throw new ApiError('method_not_allowed', { headers });
  };
}
