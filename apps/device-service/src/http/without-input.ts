import type { IncomingMessage } from 'node:http';
import { type IllegalArgument, illegalArgument } from '@gatehouse/errors';
import type { Handler } from './handle-requests.ts';
import { hasBody, queryOf } from './request-parts.ts';

/** Rejects a body. Ignoring it would accept a signature that was created for another request. */
export function withoutBody(handle: Handler): Handler {
  return async (request, caller) => {
    assertNone(bodyProblems(request));
    return handle(request, caller);
  };
}

/** Rejects a body and parameters, for the same reason. */
export function withoutInput(handle: Handler): Handler {
  return async (request, caller) => {
    assertNone([...bodyProblems(request), ...queryProblems(request)]);
    return handle(request, caller);
  };
}

function assertNone(problems: readonly IllegalArgument[]): void {
  if (problems.length > 0) {
    throw illegalArgument(problems, 'input_not_accepted');
  }
}

function bodyProblems(request: IncomingMessage): readonly IllegalArgument[] {
  return hasBody(request)
    ? [{ property: 'body', message: 'is not accepted by this operation' }]
    : [];
}

function queryProblems(request: IncomingMessage): readonly IllegalArgument[] {
  return [...new Set(queryOf(request).keys())].map((property) => ({
    property,
    message: 'is not a parameter of this operation',
  }));
}
