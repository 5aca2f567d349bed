import type { IncomingMessage } from 'node:http';
import {
  type Operation,
  type OperationMethod,
  type OperationName,
  routes,
} from '@gatehouse/device-api';
import { ApiError } from '@gatehouse/errors';

export interface RoutedRequest extends IncomingMessage {
  /** The decoded path segments, by the name of their parameter. */
  pathParts: Readonly<Record<string, string>>;
}

interface Route {
  readonly operation: Operation<OperationName>;
  readonly routed: RoutedRequest;
}

interface Pattern {
  readonly parts: readonly string[];
  readonly byMethod: ReadonlyMap<string, Operation<OperationName>>;
  /** For `Allow`. */
  readonly methods: string;
}

/** By the number of segments. In the order of the device API, because the first match counts. */
const patterns: ReadonlyMap<number, readonly Pattern[]> = Map.groupBy(
  [...Map.groupBy(routes, ({ path }) => path)].map(([path, ofPath]): Pattern => {
    const served = ofPath.flatMap(({ method, operation }) =>
      servedMethods(method).map((each) => [each, operation] as const),
    );
    return {
      parts: path.split('/'),
      byMethod: new Map(served),
      methods: served.map(([method]) => method).join(', '),
    };
  }),
  ({ parts }) => parts.length,
);

/** RFC 9110 §9.3.2: HEAD is a GET without the body of the reply. */
function servedMethods(method: OperationMethod): readonly string[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method];
}

/**
 * Compares paths by segment. Case matters, and so does a trailing slash.
 *
 * @throws ApiError `not_found`, `method_not_allowed`, `illegal_argument` for an invalid encoding
 */
export function findRoute(request: IncomingMessage): Route {
  const segments = pathOf(request).split('/');
  const pattern = patterns.get(segments.length)?.find(({ parts }) => fits(parts, segments));
  if (pattern === undefined) {
    throw new ApiError('not_found');
  }
  const operation = pattern.byMethod.get(request.method ?? '');
  if (operation === undefined) {
    throw new ApiError('method_not_allowed', { headers: { Allow: pattern.methods } });
  }
  const routed = request as RoutedRequest;
  routed.pathParts = decodeParts(pattern.parts, segments);
  return { operation, routed };
}

function pathOf({ url = '' }: IncomingMessage): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}

function fits(parts: readonly string[], segments: readonly string[]): boolean {
  for (let index = 0; index < parts.length; index += 1) {
    const part = parts[index] ?? '';
    const segment = segments[index];
    if (isParameter(part) ? segment === '' : part !== segment) {
      return false;
    }
  }
  return true;
}

function isParameter(part: string): boolean {
  return part.startsWith('{');
}

function decodeParts(parts: readonly string[], segments: readonly string[]) {
  const decoded: Record<string, string> = {};
  for (const [index, part] of parts.entries()) {
    if (isParameter(part)) {
      decoded[part.slice(1, -1)] = decode(segments[index] ?? '');
    }
  }
  return decoded;
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
