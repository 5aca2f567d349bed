import { ApiError } from '@gatehouse/api-envelope';
import { bearerChallenge } from './challenge.ts';

const PARAMETER = 'access_token';

export interface SplitQuery {
  readonly token: string | undefined;
  /** What is left for the upstream, as it came. */
  readonly rest: string;
}

/**
 * Takes `access_token` out of a query, in any spelling that the upstream would decode to it, so that a
 * token never travels on (RFC 6750 §5.3).
 *
 * @throws ApiError `multiple_credentials` when it is there twice
 */
export function splitQueryToken(query: string): SplitQuery {
  // Without an escape every name is as it is written.
  if (!/[%+]/.test(query) && !query.includes(PARAMETER)) {
    return { token: undefined, rest: query };
  }
  const tokens: string[] = [];
  const rest: string[] = [];
  for (const pair of query.split('&')) {
    const equals = pair.indexOf('=');
    const end = equals === -1 ? pair.length : equals;
    if (decode(pair.slice(0, end)) === PARAMETER) {
      tokens.push(decode(pair.slice(end + 1)));
    } else {
      rest.push(pair);
    }
  }
  if (tokens.length === 0) {
    return { token: undefined, rest: query };
  }
  if (tokens.length > 1) {
    throw new ApiError('multiple_credentials', {
      message: 'access_token was sent more than once.',
      headers: bearerChallenge('invalid_request'),
    });
  }
  return { token: tokens[0], rest: rest.join('&') };
}

/** What cannot be decoded is refused later, by whoever gives the query a meaning. */
function decode(text: string): string {
  if (!text.includes('%') && !text.includes('+')) {
    return text;
  }
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}
