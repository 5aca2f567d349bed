import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Connections } from './connections.ts';
import { LINGER_MILLISECONDS } from './linger-before-close.ts';

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
  readonly message: string;
}

/**
 * Node creates no request for input that its parser rejects, so the reply is written directly. The
 * connection ends, because the start of the next request is unknown (RFC 9112 §6.3). Complete
 * requests before it get their replies first.
 */
export function createClientErrorHandler(
  connections: Connections,
  onAnswered: (code: ClientErrorCode) => void,
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
    onAnswered(reply.code);
    socket.end(replyText(reply));
    setTimeout(() => socket.destroy(), LINGER_MILLISECONDS).unref();
  };
}

function replyText({ status, code, message }: ClientErrorReply): string {
  const body = JSON.stringify({ status, code, message, timestamp: Date.now() });
  return (
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\nCache-Control: no-store\r\n` +
    `X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n${body}`
  );
}

function clientErrorReply(cause: string | undefined): ClientErrorReply {
  if (cause === 'HPE_HEADER_OVERFLOW') {
    return {
      status: 431,
      code: 'headers_too_large',
      message: 'The request headers are too large.',
    };
  }
  if (cause === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return {
      status: 408,
      code: 'request_timeout',
      message: 'The request took too long to arrive.',
    };
  }
  return { status: 400, code: 'illegal_argument', message: 'The request is not valid HTTP/1.1.' };
}
