import type { IncomingMessage } from 'node:http';
import { type Operation, type OperationName, routes } from '@gatehouse/device-api';
import { ApiError } from '@gatehouse/errors';
import { allowedMethods, createRouter, pathParameters, splitPath } from '@gatehouse/server';

export interface RoutedRequest extends IncomingMessage {
  /** The decoded path segments, by the name of their parameter. */
  pathParts: Readonly<Record<string, string>>;
}

interface Route {
  readonly operation: Operation<OperationName>;
  readonly routed: RoutedRequest;
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
  const routed = request as RoutedRequest;
  routed.pathParts = Object.fromEntries(parameters.map(([name, text]) => [name, decode(text)]));
  return { operation: match.entry.operation, routed };
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
