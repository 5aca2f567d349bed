import { ApiError } from '@gatehouse/errors';
import { sent } from '../http/header-names.ts';
import type { RouteMatch } from '../routes/route-table.ts';

/** The error of a request that no route serves: 405 with `Allow` for a known path, otherwise 404. */
export function unrouted(match: RouteMatch): ApiError {
  if (match === undefined || match.route !== undefined) {
    return new ApiError('not_found', {
      message: 'There is no such operation.',
    });
  }
  const allow = allowedMethods(match.allow);
  return new ApiError('method_not_allowed', {
    headers: { [sent.allow]: allow },
    finding: `The path accepts ${allow}.`,
  });
}

/** OPTIONS needs no route. */
export function allowedMethods(methods: readonly string[]): string {
  return [...methods, 'OPTIONS'].join(', ');
}
