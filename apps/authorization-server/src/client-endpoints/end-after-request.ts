import type { IncomingMessage, ServerResponse } from 'node:http';

const LINGER_MILLISECONDS = 500;
const LINGER_BYTES = 256 * 1024;

/**
 * Sends a refusal whole, and closes when the caller has sent what it was sending, or after a short while: closing
 * at once makes its system answer with a reset, which can overtake the reply (RFC 9112 §9.6).
 */
export function endAfterRequest(
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
): void {
  response.setHeader('Content-Length', Buffer.byteLength(body));
  if (request.readableEnded) {
    response.end(body);
    return;
  }
  let received = 0;
  const end = () => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(end, LINGER_MILLISECONDS);
  response.write(body);
  request.on('data', (chunk: Buffer) => {
    received += chunk.length;
    if (received > LINGER_BYTES) {
      end();
    }
  });
  request.once('end', end);
  request.once('close', end);
  request.resume();
}
