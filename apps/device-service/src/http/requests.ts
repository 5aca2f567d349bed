/**
 * The HTTP interface: it authenticates requests, finds their handlers, and writes replies.
 *
 *   requests ─▶ framing ─▶ caller (internal token, cached) ─▶ router ─▶ scope ─▶ handler of a resource
 *                                                  result or failure ─▶ this file ─▶ envelope
 *
 * handler: what handlers read of a request. The handlers are in the folders of their resources.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import {
  ApiError,
  failureEnvelope,
  serviceUnavailable,
  successEnvelope,
  toApiError,
} from '@gatehouse/errors';
import { atEndOfTurn, messageProblem, observedRequest } from '@gatehouse/server';
import { DatabaseUnavailableError } from '../database/database-errors.ts';
import type { OrganizationDatabase } from '../database/organization-database.ts';
import { assertScope, type Callers } from './caller.ts';
import type { Handlers, Reply } from './handler.ts';
import { findRoute } from './router.ts';

/** Serves every route of the device API. */
export function handleRequests({
  handlers,
  callers,
  databaseOf,
  now,
}: {
  readonly handlers: Handlers;
  readonly callers: Pick<Callers, 'authenticate'>;
  readonly databaseOf: (organizationId: string) => OrganizationDatabase;
  /** Epoch milliseconds. */
  readonly now: () => number;
}): RequestListener {
  /** A caller without a token learns nothing about routes. */
  async function answer(message: IncomingMessage): Promise<Reply> {
    assertClearMessage(message);
    const caller = await callers.authenticate(message);
    const { operation, path } = findRoute(message);
    observedRequest(message).notes.operation = operation.name;
    assertScope(caller, operation.scope);
    const database = databaseOf(caller.organizationId);
    return handlers[operation.name]({ message, caller, path, database, now: now() });
  }

  return (message, response) => {
    answer(message)
      .then(({ result, headers = {} }) =>
        write(message, response, 200, headers, successEnvelope(result, now())),
      )
      .catch((error: unknown) => writeFailure(message, response, error, now()));
  };
}

/**
 * Rejects messages that two servers could read differently, and closes the connection.
 *
 * @throws ApiError `illegal_argument`
 */
function assertClearMessage(request: IncomingMessage): void {
  const problem = messageProblem(request);
  if (problem !== undefined) {
    const { reason, property, message } = problem;
    throw new ApiError('illegal_argument', {
      message: `${property}: ${message}`,
      result: [{ property, message }],
      headers: { Connection: 'close' },
      reason,
    });
  }
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
  write(request, response, error.status, headers, failureEnvelope(error, now));
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
  envelope: object,
): void {
  const body = JSON.stringify(envelope);
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
