import type { IncomingMessage, ServerResponse } from 'node:http';
import { hasBody } from '../authentication/request-body.ts';
import type { UpstreamBody } from '../forwarding/upstream-body.ts';
import { lingerBeforeClose } from './linger.ts';
import type { Reply } from './reply.ts';

/**
 * Writes a reply whose stages are all over. A body that broke off breaks the connection too, so that nobody
 * takes half of it for the whole.
 */
export async function writeReply(
  reply: Reply,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { status, body } = reply;
  if (response.destroyed) {
    return;
  }
  // What is left of an unread body must never be parsed as the next request (CWE-444).
  const unread = hasBody(request) && !request.complete;
  const headers = unread ? [...reply.headers, 'Connection', 'close'] : [...reply.headers];
  const whole = Buffer.isBuffer(body) ? body : body?.arrived();
  if (whole !== undefined) {
    headers.push('Content-Length', String(whole.length));
    response.writeHead(status, headers);
    if (unread) {
      response.write(whole);
      await lingerBeforeClose(request);
      response.end();
    } else {
      response.end(whole);
    }
  } else if (body === undefined || Buffer.isBuffer(body)) {
    response.writeHead(status, headers);
    response.end();
  } else {
    if (body.announcedLength !== undefined) {
      headers.push('Content-Length', body.announcedLength);
    }
    response.writeHead(status, headers);
    // A stream may have nothing to say for a while: its head must not wait for that.
    response.flushHeaders();
    stream(body, response);
  }
}

function stream(body: UpstreamBody, response: ServerResponse): void {
  response.on('drain', () => body.resume());
  body.connect({
    write: (chunk) => response.write(chunk),
    end: () => response.end(),
    fail: () => response.destroy(),
  });
}
