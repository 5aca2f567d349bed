import type { IncomingMessage } from 'node:http';
import type { FailureReasonName } from '@gatehouse/errors';
import { ApiError } from '@gatehouse/errors';
import { messageProblem } from '@gatehouse/server';
import { sent } from '../http/header-names.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const served: ReadonlySet<string> = new Set(METHODS);

/**
 * Rejects requests that no route can serve, before any other check. This needs no credential,
 * because it does not disclose routes.
 *
 * @throws ApiError
 */
export function assertServable(
  request: IncomingMessage,
  { acceptsUpgrade }: { readonly acceptsUpgrade: boolean } = { acceptsUpgrade: false },
): void {
  const { method = '', url, headers } = request;
  assertServedMethod(url === '*' ? '' : method);
  if (headers.upgrade !== undefined && !acceptsUpgrade && !isIgnoredUpgrade(headers.upgrade)) {
    throw refusal('upgrade_not_accepted', 'Upgrade', 'is not accepted here');
  }
  if (headers['content-encoding'] !== undefined) {
    throw new ApiError('unsupported_media_type', {
      message: 'Send the body without an encoding.',
    });
  }
  assertUnambiguous(request);
}

/** @throws ApiError */
export function assertServedMethod(method: string): void {
  if (!served.has(method)) {
    throw new ApiError('method_not_allowed', {
      headers: { [sent.allow]: METHODS.join(', ') },
    });
  }
}

/**
 * Rejects messages that two servers could read differently.
 *
 * @throws ApiError
 */
export function assertUnambiguous(request: IncomingMessage): void {
  const problem = messageProblem(request);
  if (problem !== undefined) {
    throw refusal(problem.reason, problem.property, problem.message);
  }
}

/** Clients that offer HTTP/2 continue with HTTP/1.1 if the server ignores this (RFC 9110 §7.8). */
function isIgnoredUpgrade(protocol: string): boolean {
  return protocol.trim().toLowerCase() === 'h2c';
}

/** Also closes the connection, because the boundary to the next request may be unclear. */
function refusal(reason: FailureReasonName, property: string, message: string): ApiError {
  return new ApiError('illegal_argument', {
    message: `${property}: ${message}`,
    result: [{ property, message }],
    headers: { [sent.connection]: 'close' },
    reason,
  });
}
