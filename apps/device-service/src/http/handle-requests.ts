/**
 * The HTTP interface: it authenticates requests, parses them, and writes replies.
 *
 *   handle-requests ─▶ framing ─▶ authenticate (internal-token, cached) ─▶ route-table ─▶ scope ─▶ …-handlers
 *                                                           result or failure ─▶ write-reply ─▶ envelope
 *
 * The rules of the domain are not here: each handler calls one function of it.
 */
import type { IncomingMessage, RequestListener } from 'node:http';
import type { OperationName } from '@gatehouse/device-api';
import { ApiError } from '@gatehouse/errors';
import { messageProblem, observedRequest } from '@gatehouse/server';
import { assertScope, authenticate } from './authenticate.ts';
import type { Caller } from './internal-token.ts';
import { findRoute, type RoutedRequest } from './route-table.ts';
import type { IdentifyCaller } from './verified-token-cache.ts';
import { writeFailure, writeSuccess } from './write-reply.ts';

/** `writeSuccess` writes the envelope around the result. */
export interface Reply {
  readonly result: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Handler = (request: RoutedRequest, caller: Caller) => Promise<Reply>;

/** The compiler reports an operation without a handler. */
export type Handlers = Readonly<Record<OperationName, Handler>>;

export interface RequestDependencies {
  readonly handlers: Handlers;
  readonly identifyCaller: IdentifyCaller;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Serves every route of the device API. */
export function handleRequests({
  handlers,
  identifyCaller,
  now,
}: RequestDependencies): RequestListener {
  /** A caller without a token learns nothing about routes. */
  async function answer(request: IncomingMessage): Promise<Reply> {
    assertClearMessage(request);
    const caller = await authenticate(request, identifyCaller);
    const { operation, routed } = findRoute(request);
    observedRequest(request).notes.operation = operation.name;
    assertScope(caller, operation.scope);
    return handlers[operation.name](routed, caller);
  }

  return (request, response) => {
    answer(request)
      .then((reply) => writeSuccess(request, response, reply, now()))
      .catch((error: unknown) => writeFailure(request, response, error, now()));
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
