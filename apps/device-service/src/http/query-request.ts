import type { Request } from 'express';
import type { Query, QuerySubject } from '../query-grammar/query.ts';
import { parseQueryBody } from '../query-grammar/query-body.ts';
import { parseQueryParameters } from '../query-grammar/query-parameters.ts';
import { readJsonBody } from './json-body.ts';
import { queryOf } from './request-parts.ts';

export function readParameterQuery(request: Request, subject: QuerySubject): Query {
  return parseQueryParameters(queryOf(request), subject);
}

/** Reads parameters of a GET, or the body of a POST. */
export async function readBodyQuery(request: Request, subject: QuerySubject): Promise<Query> {
  return request.method === 'POST'
    ? parseQueryBody(await readJsonBody(request), subject)
    : readParameterQuery(request, subject);
}
