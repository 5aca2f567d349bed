import type { IncomingMessage, ServerResponse } from 'node:http';
import { lingerBeforeClose } from '@gatehouse/http-server';
import type { Reply } from '../http/reply.ts';
import { hasBody } from '../http/request-body.ts';
import type { StreamedBody } from '../http/streamed-body.ts';

/** A body up to here goes out in one write with its head: as text, since Node joins no Buffer to a head. */
const JOINED_BYTES = 16 * 1024;

/**
 * Writes a reply whose stages are all over. A body that broke off breaks the connection too, so that nobody
 * takes half of it for the whole.
 *
 * @returns a promise only where something is left to be waited for
 */
export function writeReply(
  { status, headers, body, isOpenEnded }: Reply,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> | undefined {
  if (response.destroyed) {
    return undefined;
  }
  // What is left of an unread body must never be parsed as the next request (CWE-444).
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
      return lingerBeforeClose(request).then(() => {
        response.end();
      });
    }
    if (whole.length > JOINED_BYTES) {
      response.end(whole);
    } else {
      response.end(whole.toString('latin1'), 'latin1');
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
      // It may have nothing to say for a while: its head must not wait for that.
      response.flushHeaders();
    }
    stream(body, response);
  }
  return undefined;
}

function stream(body: StreamedBody, response: ServerResponse): void {
  response.on('drain', () => body.resume());
  body.connect({
    write: (chunk) => response.write(chunk),
    end: () => response.end(),
    fail: () => response.destroy(),
  });
}
