/** How requests to the management API are read, and its errors written: JSON, versions, problems. */
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import {
  ApiError,
  type IllegalArgument,
  illegalArgument,
  serviceUnavailable,
  toApiError,
} from '@gatehouse/errors';
import { hasBody, observedRequest, readStrictJson } from '@gatehouse/server';
import { StoreUnavailableError } from '@gatehouse/store';
import type { ErrorRequestHandler } from 'express';
import type { Operation } from './operation.ts';

/** Declarations can contain thousands of clients, and images. */
const BODY_LIMIT_BYTES = 4 * 1024 * 1024;
const JSON_TYPE =
  /^application\/(json|merge-patch\+json)[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i;

/** @throws ApiError `illegal_argument`, `unsupported_media_type`, `payload_too_large` */
export async function readBody(
  request: IncomingMessage,
  { body, acceptsAnyJson }: Operation,
): Promise<unknown> {
  const isPresent = hasBody(request);
  if (body === undefined) {
    if (isPresent) {
      const message = 'is not accepted by this operation';
      throw illegalArgument([{ property: 'body', message }], 'input_not_accepted');
    }
    return undefined;
  }
  if (!isPresent) {
    throw invalidBody('is missing. This operation needs a JSON body');
  }
  const { method, headers } = request;
  const [, type] = JSON_TYPE.exec(headers['content-type'] ?? '') ?? [];
  const isPatch = type?.toLowerCase() === 'merge-patch+json';
  if (type === undefined || (isPatch && method !== 'PATCH')) {
    const wanted = method === 'PATCH' ? ' or application/merge-patch+json' : '';
    throw new ApiError('unsupported_media_type', {
      message: `The body must be JSON, with the header Content-Type: application/json${wanted}.`,
      headers: method === 'PATCH' ? { 'Accept-Patch': 'application/merge-patch+json' } : {},
    });
  }
  const value = await readStrictJson(request, BODY_LIMIT_BYTES);
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject && acceptsAnyJson === undefined) {
    throw invalidBody('must be a JSON object');
  }
  return value;
}

const invalidBody = (message: string) => illegalArgument([{ property: 'body', message }]);

/** @throws ApiError `illegal_argument` for a parameter that is unknown or occurs twice */
export function readQuery(search: URLSearchParams, { query }: Operation) {
  const known = Object.keys(query?.shape ?? {});
  const others = known.length === 0 ? 'It has none' : `It has ${known.join(', ')}`;
  const problems = [...new Set(search.keys())].flatMap((property) => {
    if (!known.includes(property)) {
      return [{ property, message: `is not a parameter of this operation. ${others}` }];
    }
    return search.getAll(property).length > 1 ? [{ property, message: 'must occur once' }] : [];
  });
  if (problems.length > 0) {
    throw illegalArgument(problems);
  }
  return Object.fromEntries(search);
}

/**
 * The version in `If-Match`. `*` is any version, because only a resource that exists can be changed.
 *
 * @throws ApiError `precondition_failed` for a weak tag, which never matches (RFC 9110 §13.1.1)
 */
export function readIfMatch({ headers }: IncomingMessage): string | undefined {
  const header = headers['if-match']?.trim();
  if (header === undefined || header === '*') {
    return undefined;
  }
  const [, weak, version] = /^(W\/)?"([\x21\x23-\x7e]*)"$/.exec(header) ?? [];
  if (version === undefined) {
    const message = 'must be one ETag with its quotation marks, or *';
    throw illegalArgument([{ property: 'If-Match', message }]);
  }
  if (weak !== undefined) {
    const message =
      'If-Match has a weak ETag (W/), which never matches. Send it as the reply has it.';
    throw new ApiError('precondition_failed', { message });
  }
  return version;
}

/**
 * Whether the caller has this version already. `request.fresh` of Express would ignore it with
 * `Cache-Control: no-cache`, which fetch adds, and which is for caches.
 */
export function isKnown({ headers }: IncomingMessage, etag: string): boolean {
  const known = headers['if-none-match']?.split(',').map((each) => each.trim().replace(/^W\//, ''));
  return known?.some((each) => each === etag || each === '*') === true;
}

/** Writes every failure as problem details. The cause goes to the log. */
export const handleProblem: ErrorRequestHandler = (thrown, request, response, _next) => {
  const error = toFailure(thrown, request.method);
  const { id, notes } = observedRequest(request);
  const { code, reason, finding, status, headers } = error;
  Object.assign(notes, { code, reason, finding }, status >= 500 && { err: error.cause ?? error });
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.status(status).set({ ...headers, 'Content-Type': 'application/problem+json' });
  // Express would add a charset to a text.
  response.send(Buffer.from(JSON.stringify(problemOf(error, id))));
};

/** Converts any thrown value to an error of the catalogue. */
export function toFailure(thrown: unknown, method: string): ApiError {
  if (!(thrown instanceof StoreUnavailableError)) {
    return toApiError(thrown);
  }
  const { headers, reason } = serviceUnavailable(thrown, 'store_unavailable');
  const message =
    method === 'GET' || method === 'HEAD'
      ? 'The store is unavailable. Repeat the request after the seconds in Retry-After.'
      : 'The store is unavailable. Read the resource after the seconds in Retry-After: the change may have taken effect.';
  return new ApiError('service_unavailable', { message, headers, reason, cause: thrown });
}

/** RFC 9457. The title is that of the status, because `code` is the type. */
function problemOf({ status, code, message, result }: ApiError, requestId: string) {
  const title = STATUS_CODES[status] ?? 'Error';
  if (!Array.isArray(result)) {
    return { ...Object(result), title, status, code, detail: message, requestId };
  }
  const errors = (result as readonly IllegalArgument[]).map(({ property, message: text }) => ({
    property: property || 'body',
    message: text.replace(/\.$/, ''),
  }));
  const detail = errors.map(({ property, message: text }) => `${property}: ${text}.`).join(' ');
  return { title, status, code, detail, requestId, errors };
}
