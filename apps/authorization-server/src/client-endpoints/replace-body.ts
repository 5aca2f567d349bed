import type { IncomingMessage } from 'node:http';

/** Replaces the body that the next reader of the request finds. */
export function replaceBody(request: IncomingMessage, bytes: Buffer, contentType?: string): void {
  if (contentType !== undefined) {
    request.headers['content-type'] = contentType;
  }
  request.headers['content-length'] = String(bytes.length);
  delete request.headers['transfer-encoding'];
  // The provider checks `readable` and reads with `iterator`.
  Object.defineProperty(request, 'readable', { value: true });
  request.iterator = () => chunks(bytes);
}

async function* chunks(bytes: Buffer): NodeJS.AsyncIterator<Buffer> {
  yield bytes;
}
