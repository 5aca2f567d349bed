import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Connections } from './connections.ts';

/** How long a refused peer may take to read the answer. Closed at once, a reset could overtake it. */
const LINGER_MILLISECONDS = 1000;

/**
 * What Node's parser refused never becomes a request, so the answer is written by hand, and the connection
 * ends: where the next request begins is no longer certain (RFC 9112 §6.3). Requests that were complete before
 * it get their own replies first, and nothing after them.
 */
export function createClientErrorHandler(connections: Connections) {
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
    // A reply that has begun cannot be replaced, and a complete request must not get another one's answer.
    const isTaken = inFlight.length > 1 || inFlight[0]?.response.headersSent === true;
    if (!socket.writable || isTaken) {
      socket.destroy();
      return;
    }
    answered.add(socket);
    socket.end(replyTo(error.code));
    setTimeout(() => socket.destroy(), LINGER_MILLISECONDS).unref();
  };
}

function replyTo(cause: string | undefined): string {
  const { status, code, message } = clientErrorReply(cause);
  const body = JSON.stringify({ status, code, message, timestamp: Date.now() });
  return (
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\nCache-Control: no-store\r\n` +
    `X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n${body}`
  );
}

function clientErrorReply(cause: string | undefined) {
  if (cause === 'HPE_HEADER_OVERFLOW') {
    return {
      status: 431,
      code: 'headers_too_large',
      message: 'The request headers are too large.',
    };
  }
  if (cause === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return { status: 408, code: 'timeout', message: 'The request took too long to arrive.' };
  }
  return { status: 400, code: 'illegal_argument', message: 'The request is not valid HTTP/1.1.' };
}
