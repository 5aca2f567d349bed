/**
 * The HTTP interface: it authenticates requests, finds their handlers, and writes replies.
 *
 *   requests ─▶ framing ─▶ caller (internal token, cached) ─▶ route ─▶ scope ─▶ handler of a resource
 *                                                 result or failure ─▶ this file ─▶ envelope
 *
 * handler: what handlers read of a request. The handlers are in the folders of their resources.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { deviceIdPattern, routes } from '@gatehouse/device-api';
import {
  ApiError,
  failureEnvelope,
  serviceUnavailable,
  successEnvelope,
  toApiError,
} from '@gatehouse/errors';
import {
  allowedMethods,
  assertClearMessage,
  atEndOfTurn,
  createRouter,
  observedRequest,
  pathParameters,
} from '@gatehouse/server';
import { DatabaseUnavailableError } from '../database/database-errors.ts';
import type { OrganizationDatabase } from '../database/organization-database.ts';
import type { Callers } from './caller.ts';
import { assertNoInput, type Handlers, type PathParameters, type Reply } from './handler.ts';

/** Serves every route of the device API. */
export function handleRequests(dependencies: {
  readonly handlers: Handlers;
  readonly callers: Pick<Callers, 'authenticate'>;
  /** By organization. */
  readonly databases: { memo(organizationId: string): OrganizationDatabase };
  /** Epoch milliseconds. */
  readonly now: () => number;
}): RequestListener {
  const { handlers, callers, databases, now } = dependencies;
  /** A caller without a token learns nothing about routes. */
  async function answer(message: IncomingMessage): Promise<Reply> {
    assertClearMessage(message);
    const caller = await callers.authenticate(message);
    const { route, segments } = findRoute(message);
    const { name, scope, request } = route.operation;
    observedRequest(message).notes.operation = name;
    // The gateway checks the scope too. This is a second check.
    if (!caller.scopes.has(scope)) {
      throw new ApiError('access_denied', {
        headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
        reason: 'access_denied',
      });
    }
    const path = pathParameters(route, segments) as PathParameters;
    assertPossible(path);
    if (request === undefined && route.method !== 'GET') {
      assertNoInput(message);
    }
    const database = databases.memo(caller.organizationId);
    return handlers[name]({ message, path, database, now: now() });
  }

  return async (message, response) => {
    try {
      const reply = await answer(message);
      write(message, response, 200, reply.headers ?? {}, printSuccess(reply, now()));
    } catch (error) {
      writeFailure(message, response, error, now());
    }
  };
}

/**
 * Writes every error reply. The reply has the message of the error catalog; the log has the cause.
 * `X-Failure` tells the gateway code and reason, for its log and the request log.
 */
function writeFailure(
  request: IncomingMessage,
  response: ServerResponse,
  thrown: unknown,
  now: number,
): void {
  const error =
    thrown instanceof DatabaseUnavailableError
      ? serviceUnavailable(thrown, 'database_unavailable')
      : toApiError(thrown);
  const { notes } = observedRequest(request);
  notes.code = error.code;
  notes.reason = error.reason;
  if (error.status >= 500) {
    notes.err = error.cause ?? error;
  }
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const headers = { ...error.headers, 'X-Failure': `${error.code} ${error.reason}` };
  write(request, response, error.status, headers, JSON.stringify(failureEnvelope(error, now)));
}

function printSuccess({ result, json }: Reply, now: number): string {
  if (json === undefined) {
    return JSON.stringify(successEnvelope(result, now));
  }
  const [start, end] = JSON.stringify(successEnvelope('', now)).split('""');
  return `${start}${json}${end}`;
}

/**
 * A flat list of headers costs least. Node writes a text together with them, while it would write
 * bytes separately.
 */
function write(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
): void {
  response.writeHead(status, [
    'X-Request-Id',
    observedRequest(request).id,
    'Cache-Control',
    'no-store',
    'X-Content-Type-Options',
    'nosniff',
    'Content-Type',
    'application/json; charset=utf-8',
    'Content-Length',
    String(Buffer.byteLength(body)),
    ...Object.entries(headers).flat(),
  ]);
  atEndOfTurn(() => response.end(body));
}

const router = createRouter(routes, { plainPathsHideOthers: true });

/**
 * Compares paths by segment. Case matters, and so does a trailing slash.
 *
 * @throws ApiError `not_found`, `method_not_allowed`
 */
function findRoute({ url = '', method = '' }: IncomingMessage) {
  const [path = ''] = url.split('?', 1);
  const segments = path.slice(1).split('/');
  const match = router.find(method, { path, segments });
  if (match === undefined) {
    throw new ApiError('not_found');
  }
  if (match.entry === undefined) {
    const allow = allowedMethods(match.others).join(', ');
    throw new ApiError('method_not_allowed', { headers: { Allow: allow } });
  }
  return { route: match.entry, segments };
}

/** @throws ApiError `not_found` for an id that no record can have */
function assertPossible(path: PathParameters): void {
  for (const [name, value] of Object.entries(path)) {
    // PostgreSQL rejects NUL in text.
    if (name === 'deviceId' ? !deviceIdPattern.test(value) : value.includes('\0')) {
      throw new ApiError('not_found');
    }
  }
}
