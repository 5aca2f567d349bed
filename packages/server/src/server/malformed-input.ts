/** Replies to input that never becomes a request for the application, and its log line. */
import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { type FailureReasonName, failureReasons } from '@gatehouse/errors';
import { observationOf } from '../requests/observed-request.ts';
import type { RequestRecorder } from '../requests/request-records.ts';
import type { Logger } from '../telemetry/logger.ts';
import { createRequestLineWriter } from '../telemetry/logger.ts';
import type { ClientErrorCode, Connections } from './connections.ts';
import { hostProblem, LINGER_MILLISECONDS, lingerBeforeClose } from './message-framing.ts';

const replyTo = (
  reason: FailureReasonName,
  message: string,
  code: ClientErrorCode = 'illegal_argument',
  status = 400,
) => ({ status, code, reason, message });

type ClientErrorReply = ReturnType<typeof replyTo>;

const replies = {
  notHttp: replyTo('http_invalid', 'The request is not valid HTTP/1.1.'),
  target: replyTo(
    'target_invalid',
    'The request target must be a path, or an http URL without user information.',
  ),
};

const TOO_LARGE = 'headers_too_large';
const TOO_SLOW = 'request_timeout';

/** By the code of the error of Node's parser. */
const repliesToErrors = new Map<string | undefined, ClientErrorReply>([
  ['HPE_HEADER_OVERFLOW', replyTo(TOO_LARGE, 'The request headers are too large.', TOO_LARGE, 431)],
  [
    'ERR_HTTP_REQUEST_TIMEOUT',
    replyTo(TOO_SLOW, 'The request took too long to arrive.', TOO_SLOW, 408),
  ],
]);

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
    if (
      socket.writable &&
      inFlight.length > 0 &&
      inFlight.every(({ request }) => request.complete)
    ) {
      answered.add(socket);
      connections.endAfterReplies(socket);
      return;
    }
    // A started reply cannot be replaced, and a complete request must not get the reply of another.
    const isTaken = inFlight.length > 1 || inFlight[0]?.response.headersSent === true;
    if (!socket.writable || isTaken) {
      socket.destroy();
      return;
    }
    answered.add(socket);
    const reply = repliesToErrors.get(error.code) ?? replies.notHttp;
    const input = inputOf(reply, socket, inFlight[0]?.request);
    // A connection that was opened in advance and never used is no failed request.
    if (socket.bytesRead > 0) {
      onAnswered(input);
    }
    socket.end(replyText(reply, input.requestId));
    setTimeout(() => socket.destroy(), LINGER_MILLISECONDS).unref();
  };
}

/** Rejects a request whose `Host` or target is invalid, and closes its connection. */
export function rejectHead(request: IncomingMessage, response: ServerResponse): MalformedInput {
  const message = hostProblem(request);
  const reply = message === undefined ? replies.target : replyTo('http_invalid', message);
  const input = inputOf(reply, request.socket, request);
  const { headers, body } = envelopeOf(reply, input.requestId);
  response.writeHead(400, headers).write(body);
  void lingerBeforeClose(request).then(() => response.end());
  return input;
}

function inputOf(
  { status, code, reason }: ClientErrorReply,
  socket: Socket,
  /** The request that the input belongs to, if its headers arrived. */
  request: IncomingMessage | undefined,
) {
  const requestId = (request && observationOf(request)?.id) ?? randomUUID();
  return { requestId, status, code, reason, socket, request };
}

function replyText(reply: ClientErrorReply, requestId: string): string {
  const { headers, body } = envelopeOf(reply, requestId);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status]}\r\n${lines.join('')}\r\n${body}`;
}

function envelopeOf({ status, code, message }: ClientErrorReply, requestId: string) {
  const body = JSON.stringify({ status, code, message, timestamp: Date.now() });
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

/** Input that never became a request for the application, and its reply. */
export type MalformedInput = ReturnType<typeof inputOf>;

/** Counts, logs and records malformed input as failed requests. */
export function createMalformedInputReporter(dependencies: {
  readonly count: ((code: ClientErrorCode) => void) | undefined;
  readonly logger: Logger | undefined;
  readonly record: RequestRecorder['recordMalformed'] | undefined;
}): (input: MalformedInput) => void {
  const { count, logger, record } = dependencies;
  const writeLine = logger && createRequestLineWriter(logger);
  return ({ requestId, status, code, reason, socket, request }) => {
    count?.(code);
    const observation = request && observationOf(request);
    if (observation !== undefined) {
      // The request has its own log line, which needs only the reason.
      observation.notes.code = code;
      observation.notes.reason = reason;
      return;
    }
    const { stage } = failureReasons[reason];
    const method = request?.method;
    const line = { requestId, method, status, aborted: false, durationMs: 0, code, reason, stage };
    writeLine?.(line);
    record?.(line, socket.remoteAddress ?? '');
  };
}
