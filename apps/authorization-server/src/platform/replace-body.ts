import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

/** Lets who reads the request next find this body, as if it had come over the wire. */
export function replaceBody(request: IncomingMessage, text: string, contentType: string): void {
  const bytes = Buffer.from(text);
  request.headers['content-type'] = contentType;
  request.headers['content-length'] = String(bytes.length);
  delete request.headers['transfer-encoding'];
  const body = Readable.from([bytes], { objectMode: false });
  // The provider asks whether there is something to read, and reads it by `iterator`.
  Object.defineProperty(request, 'readable', { value: true });
  request.iterator = (options) => body.iterator(options);
}
