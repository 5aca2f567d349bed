import type { IncomingMessage } from 'node:http';

/** Lets who reads the request next find this body, as if it had come over the wire. */
export function replaceBody(request: IncomingMessage, bytes: Buffer, contentType?: string): void {
  if (contentType !== undefined) {
    request.headers['content-type'] = contentType;
  }
  request.headers['content-length'] = String(bytes.length);
  delete request.headers['transfer-encoding'];
  // The provider asks whether there is something to read, and reads it by `iterator`.
  Object.defineProperty(request, 'readable', { value: true });
  request.iterator = () => chunks(bytes);
}

async function* chunks(bytes: Buffer): NodeJS.AsyncIterator<Buffer> {
  yield bytes;
}
