/** When a client sends the body of its request, and how long a server still reads it. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** Requests whose client sends the body only after `100 Continue`. */
const waiting = new WeakMap<IncomingMessage, ServerResponse>();

export function deferContinue(request: IncomingMessage, response: ServerResponse): void {
  waiting.set(request, response);
}

/**
 * Requests the body if the client waits for it (RFC 9110 §10.1.1). Node would always do so
 * immediately.
 */
export function sendContinue(request: IncomingMessage): void {
  waiting.get(request)?.writeContinue();
  waiting.delete(request);
}

/** Time until a server closes a connection whose peer may still send data. */
export const LINGER_MILLISECONDS = 1000;
/** Above the usual body limit, because a proxy turns a reset during its upload into a 502. */
const LINGER_BYTES = 2 * 1024 * 1024;

/**
 * Reads and discards data for a short time. An immediate close makes the system reset the
 * connection, and the reset can overtake the reply (RFC 9112 §9.6).
 */
export function lingerBeforeClose(request: IncomingMessage): Promise<void> {
  if (request.readableEnded || request.destroyed || !announcesBody(request)) {
    return Promise.resolve();
  }
  return new Promise((resolve) => {
    let received = 0;
    const timer = setTimeout(resolve, LINGER_MILLISECONDS);
    const finish = () => {
      clearTimeout(timer);
      resolve();
    };
    request.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received > LINGER_BYTES) {
        finish();
      }
    });
    request.once('close', finish);
    request.once('end', finish);
    request.resume();
  });
}

function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
