/** Replies to input that never becomes a request for the application, and its log line. */
import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import {
  ApiError,
  type ErrorCode,
  type FailureReasonName,
  failureEnvelope,
  failureReasons,
} from '@gatehouse/errors';
import { observationOf } from '../requests/observed-request.ts';
import type { RequestRecorder } from '../requests/request-records.ts';
import { createRequestLineWriter, type Logger } from '../telemetry/logger.ts';
import type { Connections } from './connections.ts';
import { hostProblem, LINGER_MILLISECONDS, lingerBeforeClose } from './message-framing.ts';

const malformed = (reason: FailureReasonName, message: string) =>
  new ApiError('illegal_argument', { reason, message });

/** By the code of the error of Node's parser. Every other error is invalid HTTP. */
function errorOf({ code }: NodeJS.ErrnoException): ApiError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ApiError('headers_too_large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiError('request_timeout');
    default:
      return malformed('http_invalid', 'The request is not valid HTTP/1.1.');
  }
}

/**
 * Node creates no request for input that its parser rejects, so the reply is written directly. The
 * connection ends, because the start of the next request is unknown (RFC 9112 §6.3). Complete
 * requests before it get their replies first.
 */
export function createClientErrorHandler(
  connections: Connections,
  onAnswered: (input: MalformedInput) => void,
) {
  const answered = new WeakSet<Socket>();
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (answered.has(socket)) {
      return;
    }
    const inFlight = connections.inFlight(socket);
    if (socket.writable && inFlight.length > 0 && inFlight.every(({ req }) => req.complete)) {
      answered.add(socket);
      connections.endAfterReplies(socket);
      return;
    }
    // A started reply cannot be replaced, and a complete request must not get the reply of another.
    const isTaken = inFlight.length > 1 || inFlight[0]?.headersSent === true;
    if (!socket.writable || isTaken) {
      socket.destroy();
      return;
    }
    answered.add(socket);
    const input = inputOf(errorOf(error), socket, inFlight[0]?.req);
    // A connection that was opened in advance and never used is no failed request.
    if (socket.bytesRead > 0) {
      onAnswered(input);
    }
    socket.end(replyText(input));
    setTimeout(() => socket.destroy(), LINGER_MILLISECONDS).unref();
  };
}

/** Rejects a request whose `Host` or target is invalid, and closes its connection. */
export function rejectHead(request: IncomingMessage, response: ServerResponse): MalformedInput {
  const message = hostProblem(request);
  const target = 'The request target must be a path, or an http URL without user information.';
  const error = message ? malformed('http_invalid', message) : malformed('target_invalid', target);
  const input = inputOf(error, request.socket, request);
  const { headers, body } = envelopeOf(input);
  response.writeHead(error.status, headers).write(body);
  void lingerBeforeClose(request).then(() => response.end());
  return input;
}

/** @param request the request that the input belongs to, if its headers arrived */
function inputOf(error: ApiError, socket: Socket, request: IncomingMessage | undefined) {
  const requestId = (request && observationOf(request)?.id) ?? randomUUID();
  return { requestId, error, socket, request };
}

/** Input that never became a request for the application, and its error. */
export type MalformedInput = ReturnType<typeof inputOf>;

function replyText(input: MalformedInput): string {
  const { status } = input.error;
  const { headers, body } = envelopeOf(input);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`;
}

function envelopeOf({ error, requestId }: MalformedInput) {
  const body = JSON.stringify(failureEnvelope(error, Date.now()));
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': requestId,
    Connection: 'close',
  };
  return { headers, body };
}

/** Counts, logs and records malformed input as failed requests. */
export function createMalformedInputReporter(dependencies: {
  readonly count: ((code: ErrorCode) => void) | undefined;
  readonly logger: Logger | undefined;
  readonly record: RequestRecorder['recordMalformed'] | undefined;
}): (input: MalformedInput) => void {
  const { count, logger, record } = dependencies;
  const writeLine = logger && createRequestLineWriter(logger);
  return ({ requestId, error, socket, request }) => {
    const { status, code, reason } = error;
    count?.(code);
    const observation = request && observationOf(request);
    if (observation !== undefined) {
      // The request has its own log line, which needs only the reason.
      Object.assign(observation.notes, { code, reason });
      return;
    }
    const { stage } = failureReasons[reason];
    const method = request?.method;
    const line = { requestId, method, status, aborted: false, durationMs: 0, code, reason, stage };
    writeLine?.(line);
    record?.(line, socket.remoteAddress ?? '');
  };
}
