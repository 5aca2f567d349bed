import type { IncomingMessage, ServerResponse } from 'node:http';
import { atEndOfTurn, lingerBeforeClose } from '@gatehouse/server';
import { hasBody, type Reply, type StreamedBody } from '../messages.ts';

/**
 * Node joins a head and a body of text, which is cheaper than two buffers. From 7 kB on, the
 * conversion costs more than it saves (bench/gateway).
 */
const JOINED_BYTES = 4 * 1024;

/**
 * Writes a finished reply. If the body ends early, the connection breaks too, so that the caller
 * does not treat a part as the whole.
 */
export function writeReply(
  { status, headers, body, isOpenEnded }: Reply,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  if (response.destroyed) {
    return;
  }
  // The rest of an unread body must never be parsed as the next request (CWE-444).
  const unread = hasBody(request) && !request.complete;
  if (unread) {
    headers.push('Connection', 'close');
  }
  const whole = Buffer.isBuffer(body) ? body : body?.arrived();
  if (whole !== undefined) {
    headers.push('Content-Length', String(whole.length));
    response.writeHead(status, headers);
    if (unread) {
      response.write(whole);
      void lingerBeforeClose(request).then(() => response.end());
    } else if (whole.length > JOINED_BYTES) {
      atEndOfTurn(() => response.end(whole));
    } else {
      atEndOfTurn(() => response.end(whole.toString('latin1'), 'latin1'));
    }
  } else if (body === undefined || Buffer.isBuffer(body)) {
    response.writeHead(status, headers);
    response.end();
  } else {
    if (body.announcedLength !== undefined) {
      headers.push('Content-Length', body.announcedLength);
    }
    response.writeHead(status, headers);
    if (isOpenEnded === true) {
      // The first data may arrive much later. The head must not wait for it.
      response.flushHeaders();
    }
    stream(body, response);
  }
}

function stream(body: StreamedBody, response: ServerResponse): void {
  response.on('drain', () => body.resume());
  body.connect({
    write: (chunk) => response.write(chunk),
    end: () => response.end(),
    fail: () => response.destroy(),
  });
}
