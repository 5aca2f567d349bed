import { severalCredentials } from './explained-failure.ts';

const PARAMETER = 'access_token';

export interface SplitQuery {
  readonly token: string | undefined;
  /** The other parameters for the upstream, unchanged. */
  readonly rest: string;
}

/**
 * Removes `access_token` from a query, in any spelling that the upstream would decode to it, so
 * that the token never reaches the upstream (RFC 6750 §5.3).
 *
 * @throws ApiError `multiple_credentials` if the query has it twice
 */
export function splitQueryToken(query: string): SplitQuery {
  // Without an escape, there is only one spelling of the name.
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
    throw severalCredentials('The query has access_token twice.');
  }
  return { token: tokens[0], rest: rest.join('&') };
}

/** Leaves invalid escapes unchanged: a later check of the query rejects them. */
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
