import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FailureReasonName } from '@gatehouse/errors';
import { observationOf } from '../requests/observed-request.ts';
import { hostProblem } from './absolute-form.ts';
import type { Connections } from './connections.ts';
import { LINGER_MILLISECONDS, lingerBeforeClose } from './linger-before-close.ts';
import type { MalformedInput } from './malformed-input.ts';

/** As in the error catalogue of the platform API. */
export const CLIENT_ERROR_CODES = [
  'illegal_argument',
  'headers_too_large',
  'request_timeout',
] as const;

export type ClientErrorCode = (typeof CLIENT_ERROR_CODES)[number];

interface ClientErrorReply {
  readonly status: number;
  readonly code: ClientErrorCode;
  readonly reason: FailureReasonName;
  readonly message: string;
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
    const reply = clientErrorReply(error.code);
    const input = inputOf(reply, socket, inFlight[0]?.request);
    // A connection that was opened in advance and never used is no failed request.
    if (socket.bytesRead > 0) {
      onAnswered(input);
    }
    socket.end(replyText(reply, input.requestId));
    setTimeout(() => socket.destroy(), LINGER_MILLISECONDS).unref();
  };
}

const invalidTarget: ClientErrorReply = {
  status: 400,
  code: 'illegal_argument',
  reason: 'target_invalid',
  message: 'The request target must be a path, or an http URL without user information.',
};

/** Rejects a request whose `Host` or target is invalid, and closes its connection. */
export function rejectHead(request: IncomingMessage, response: ServerResponse): MalformedInput {
  const message = hostProblem(request);
  const reply: ClientErrorReply =
    message === undefined ? invalidTarget : { ...invalidTarget, reason: 'http_invalid', message };
  const input = inputOf(reply, request.socket, request);
  const { headers, body } = envelopeOf(reply, input.requestId);
  response.writeHead(400, headers).write(body);
  void lingerBeforeClose(request).then(() => response.end());
  return input;
}

function inputOf(
  { status, code, reason }: ClientErrorReply,
  socket: Socket,
  request: IncomingMessage | undefined,
): MalformedInput {
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

function clientErrorReply(cause: string | undefined): ClientErrorReply {
  if (cause === 'HPE_HEADER_OVERFLOW') {
    return {
      status: 431,
      code: 'headers_too_large',
      reason: 'headers_too_large',
      message: 'The request headers are too large.',
    };
  }
  if (cause === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return {
      status: 408,
      code: 'request_timeout',
      reason: 'request_timeout',
      message: 'The request took too long to arrive.',
    };
  }
  return {
    status: 400,
    code: 'illegal_argument',
    reason: 'http_invalid',
    message: 'The request is not valid HTTP/1.1.',
  };
}
