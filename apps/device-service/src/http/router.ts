import type { IncomingMessage } from 'node:http';
import { type Operation, type OperationName, routes } from '@gatehouse/device-api';
import { ApiError } from '@gatehouse/errors';
import { allowedMethods, createRouter, pathParameters, splitPath } from '@gatehouse/server';

interface Route {
  readonly operation: Operation<OperationName>;
  /** The decoded path segments, by the name of their parameter. */
  readonly path: Readonly<Record<string, string>>;
}

const router = createRouter(routes, { plainPathsHideOthers: true });

/**
 * Compares paths by segment. Case matters, and so does a trailing slash.
 *
 * @throws ApiError `not_found`, `method_not_allowed`, `illegal_argument` for an invalid encoding
 */
export function findRoute(request: IncomingMessage): Route {
  const path = pathOf(request);
  const target = { path, segments: splitPath(path) };
  const match = router.find(request.method ?? '', target);
  if (match === undefined) {
    throw new ApiError('not_found');
  }
  if (match.entry === undefined) {
    const allow = allowedMethods(match.others).join(', ');
    throw new ApiError('method_not_allowed', { headers: { Allow: allow } });
  }
  const parameters = Object.entries(pathParameters(match.entry.path, target));
  return {
    operation: match.entry.operation,
    path: Object.fromEntries(parameters.map(([name, text]) => [name, decode(text)])),
  };
}

function pathOf({ url = '' }: IncomingMessage): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw new ApiError('illegal_argument', {
      message: 'The path is not valid.',
      cause,
      reason: 'target_invalid',
    });
  }
}
