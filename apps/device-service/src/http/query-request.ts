import type { IncomingMessage } from 'node:http';
import type { Query, QuerySubject } from '../query-grammar/query.ts';
import { parseQueryBody } from '../query-grammar/query-body.ts';
import { parseQueryParameters } from '../query-grammar/query-parameters.ts';
import { readJsonBody } from './json-body.ts';
import { hasBody, queryOf } from './request-parts.ts';

export function readParameterQuery(request: IncomingMessage, subject: QuerySubject): Query {
  return parseQueryParameters(queryOf(request), subject);
}

/** Reads parameters of a GET, or the body of a POST. A POST without a body queries everything. */
export async function readBodyQuery(
  request: IncomingMessage,
  subject: QuerySubject,
): Promise<Query> {
  if (request.method !== 'POST') {
    return readParameterQuery(request, subject);
  }
  return parseQueryBody(hasBody(request) ? await readJsonBody(request) : {}, subject);
}
