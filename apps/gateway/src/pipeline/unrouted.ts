import { ApiError } from '@gatehouse/errors';
import { allowedMethods } from '@gatehouse/server';
import { sent } from '../http/header-names.ts';
import type { Entry, RouteMatch } from '../routes/entries.ts';

/** The error of a request that no route serves: 405 with `Allow` for a known path, otherwise 404. */
export function unrouted(match: RouteMatch): ApiError {
  if (match === undefined || match.entry !== undefined) {
    return new ApiError('not_found', {
      message: 'There is no such operation.',
    });
  }
  const allow = allowHeader(match.others);
  return new ApiError('method_not_allowed', {
    headers: { [sent.allow]: allow },
    finding: `The path accepts ${allow}.`,
  });
}

/** OPTIONS needs no route. */
export function allowHeader(others: readonly Entry[]): string {
  return [...allowedMethods(others), 'OPTIONS'].join(', ');
}
