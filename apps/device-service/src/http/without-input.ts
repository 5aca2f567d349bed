import type { IncomingMessage } from 'node:http';
import { type IllegalArgument, illegalArgument } from '@gatehouse/api-envelope';
import type { Request } from 'express';
import type { Handler } from './mount-routes.ts';
import { queryOf } from './request-parts.ts';

/** For an operation without a body: ignoring one would accept a signed text that was made for something else. */
export function withoutBody(handle: Handler): Handler {
  return async (request, caller) => {
    refuse(bodyProblems(request));
    return handle(request, caller);
  };
}

/** For an operation with neither a body nor parameters, for the same reason. */
export function withoutInput(handle: Handler): Handler {
  return async (request, caller) => {
    refuse([...bodyProblems(request), ...queryProblems(request)]);
    return handle(request, caller);
  };
}

function refuse(problems: readonly IllegalArgument[]): void {
  if (problems.length > 0) {
    throw illegalArgument(problems);
  }
}

/** RFC 9112 §6.3. */
function bodyProblems({ headers }: IncomingMessage): readonly IllegalArgument[] {
  const hasBody =
    headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  return hasBody ? [{ property: 'body', message: 'is not accepted by this operation' }] : [];
}

function queryProblems(request: Request): readonly IllegalArgument[] {
  return [...new Set(queryOf(request).keys())].map((property) => ({
    property,
    message: 'is not a parameter of this operation',
  }));
}
