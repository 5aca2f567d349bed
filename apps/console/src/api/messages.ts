/** How requests to the management API are read, and its replies written: JSON, ETag, problems. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import {
  ApiError,
  type IllegalArgument,
  illegalArgument,
  serviceUnavailable,
  toApiError,
} from '@gatehouse/errors';
import { hasBody, observedRequest, parseStrictJson, StrictJsonError } from '@gatehouse/server';
import { StoreUnavailableError } from '@gatehouse/store';

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Undefined: none. */
  readonly body?: unknown;
}

/** Settings can contain images. */
const BODY_LIMIT_BYTES = 1024 * 1024;
/** The server discards this much of a large body, so that the caller can read the 413. */
const DISCARDED_BYTES = 8 * 1024 * 1024;
const JSON_TYPE =
  /^application\/(json|merge-patch\+json)[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i;

/**
 * The body as JSON that every parser reads alike.
 *
 * @throws ApiError `illegal_argument`, `unsupported_media_type`, `payload_too_large`
 */
export async function readJson(request: IncomingMessage, acceptsAnyJson: boolean) {
  const { method, headers } = request;
  const [, type] = JSON_TYPE.exec(headers['content-type'] ?? '') ?? [];
  const isPatch = type?.toLowerCase() === 'merge-patch+json';
  if (hasBody(request) && (type === undefined || (isPatch && method !== 'PATCH'))) {
    const wanted = method === 'PATCH' ? ' or application/merge-patch+json' : '';
    throw new ApiError('unsupported_media_type', {
      message: `The body must be JSON, with the header Content-Type: application/json${wanted}.`,
      headers: method === 'PATCH' ? { 'Accept-Patch': 'application/merge-patch+json' } : {},
    });
  }
  if ((headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
    throw new ApiError('unsupported_media_type', { message: 'The body must not be compressed.' });
  }
  const bytes = await readBytes(request);
  if (bytes.length === 0) {
    throw invalidBody('is missing. This operation needs a JSON body');
  }
  const value = parseBytes(bytes);
  if (!acceptsAnyJson && (typeof value !== 'object' || value === null || Array.isArray(value))) {
    throw invalidBody('must be a JSON object');
  }
  return value;
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      length += chunk.length;
      if (length <= BODY_LIMIT_BYTES) {
        chunks.push(chunk);
      } else if (length > DISCARDED_BYTES) {
        break;
      }
    }
  } catch (cause) {
    const message = 'The body is incomplete.';
    throw new ApiError('illegal_argument', { message, cause, reason: 'body_incomplete' });
  }
  if (length > BODY_LIMIT_BYTES) {
    const message = `The body is larger than ${BODY_LIMIT_BYTES} bytes.`;
    throw new ApiError('payload_too_large', { message, headers: { Connection: 'close' } });
  }
  return Buffer.concat(chunks);
}

function parseBytes(bytes: Buffer): unknown {
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    return parseStrictJson(decoder.decode(bytes));
  } catch (error) {
    throw invalidBody(error instanceof StrictJsonError ? error.message : 'is not valid UTF-8');
  }
}

const invalidBody = (message: string) => illegalArgument([{ property: 'body', message }]);

export function assertNoBody(request: IncomingMessage): void {
  if (hasBody(request)) {
    throw illegalArgument(
      [{ property: 'body', message: 'is not accepted by this operation' }],
      'input_not_accepted',
    );
  }
}

/** @throws ApiError `illegal_argument` for a parameter that is unknown or occurs twice */
export function readQuery(search: URLSearchParams, known: readonly string[]) {
  const names = [...new Set(search.keys())];
  const problems = names.flatMap((property) => {
    if (!known.includes(property)) {
      const others = known.length === 0 ? 'It has none' : `It has ${known.join(', ')}`;
      return [{ property, message: `is not a parameter of this operation. ${others}` }];
    }
    const isRepeated = search.getAll(property).length > 1;
    return isRepeated ? [{ property, message: 'must occur once' }] : [];
  });
  if (problems.length > 0) {
    throw illegalArgument(problems);
  }
  return Object.fromEntries(search);
}

export const etagOf = (version: string): string => `"${version}"`;

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

/** Whether the caller has this version already. */
export function isKnown({ headers }: IncomingMessage, etag: string): boolean {
  const known = headers['if-none-match']?.split(',').map((each) => each.trim().replace(/^W\//, ''));
  return known?.some((each) => each === etag || each === '*') === true;
}

/** Converts any thrown value to an error of the catalogue. */
export function toFailure(thrown: unknown, method: string | undefined): ApiError {
  if (!(thrown instanceof StoreUnavailableError)) {
    return toApiError(thrown);
  }
  const { headers, reason } = serviceUnavailable(thrown, 'store_unavailable');
  const isSafe = method === 'GET' || method === 'HEAD';
  const message = isSafe
    ? 'The store is unavailable. Repeat the request after the seconds in Retry-After.'
    : 'The store is unavailable. Read the resource after the seconds in Retry-After: the change may have taken effect.';
  return new ApiError('service_unavailable', { message, headers, reason, cause: thrown });
}

/** RFC 9457. The title is that of the status, because `code` is the type. */
function problemOf({ status, code, message, result }: ApiError, requestId: string) {
  const title = STATUS_CODES[status] ?? 'Error';
  if (!Array.isArray(result)) {
    return { title, status, code, detail: message, requestId };
  }
  const errors = (result as readonly IllegalArgument[]).map(({ property, message: text }) => ({
    property: property || 'body',
    message: text.replace(/\.$/, ''),
  }));
  const detail = errors.map(({ property, message: text }) => `${property}: ${text}.`).join(' ');
  return { title, status, code, detail, requestId, errors };
}

/** Writes every failure. The cause goes to the log. */
export function writeProblem(
  request: IncomingMessage,
  response: ServerResponse,
  error: ApiError,
): void {
  const { id, notes } = observedRequest(request);
  const { code, reason, finding, status, headers } = error;
  Object.assign(notes, { code, reason, finding }, status >= 500 && { err: error.cause ?? error });
  if (response.headersSent) {
    response.destroy();
    return;
  }
  write(request, response, { status, headers, body: problemOf(error, id) }, 'problem+json');
}

export function write(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers = {}, body }: Reply,
  type: 'json' | 'problem+json' = 'json',
): void {
  const text = body === undefined ? '' : JSON.stringify(body);
  const content =
    body === undefined
      ? {}
      : { 'Content-Type': `application/${type}`, 'Content-Length': Buffer.byteLength(text) };
  response.writeHead(status, {
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...content,
    ...headers,
  });
  response.end(request.method === 'HEAD' ? undefined : text);
}
