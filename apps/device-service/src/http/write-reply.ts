import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type ApiError,
  failureEnvelope,
  serviceUnavailable,
  successEnvelope,
  toApiError,
} from '@gatehouse/errors';
import { observedRequest } from '@gatehouse/server';
import { DatabaseUnavailableError } from '../database/database-unavailable-error.ts';
import type { Reply } from './handle-requests.ts';

export function writeSuccess(
  request: IncomingMessage,
  response: ServerResponse,
  { result, headers = {} }: Reply,
  now: number,
): void {
  write(request, response, 200, headers, successEnvelope(result, now));
}

/**
 * Writes every error reply. The reply has the message of the error catalog; the log has the cause.
 * `X-Failure` tells the gateway code and reason, for its log and the request log.
 */
export function writeFailure(
  request: IncomingMessage,
  response: ServerResponse,
  thrown: unknown,
  now: number,
): void {
  const error = asApiError(thrown);
  const { notes } = observedRequest(request);
  notes.code = error.code;
  notes.reason = error.reason;
  if (error.status >= 500) {
    notes.err = error.cause ?? error;
  }
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const headers = { ...error.headers, 'X-Failure': `${error.code} ${error.reason}` };
  write(request, response, error.status, headers, failureEnvelope(error, now));
}

/**
 * A flat list of headers costs least. Node writes a text together with them, while it would write
 * bytes separately.
 */
function write(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  envelope: object,
): void {
  const body = JSON.stringify(envelope);
  response.writeHead(status, [
    'X-Request-Id',
    observedRequest(request).id,
    'Cache-Control',
    'no-store',
    'X-Content-Type-Options',
    'nosniff',
    'Content-Type',
    'application/json; charset=utf-8',
    'Content-Length',
    String(Buffer.byteLength(body)),
    ...Object.entries(headers).flat(),
  ]);
  response.end(body);
}

function asApiError(thrown: unknown): ApiError {
  return thrown instanceof DatabaseUnavailableError
    ? serviceUnavailable(thrown, 'database_unavailable')
    : toApiError(thrown);
}
