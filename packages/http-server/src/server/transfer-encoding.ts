import type { IncomingMessage } from 'node:http';

/**
 * Why the end of this request's body is in doubt, or undefined. Node accepts `gzip, chunked`, and would hand on
 * a body that it did not decode. Node also reads chunks of an HTTP/1.0 request, which a proxy in front may have
 * taken for the start of the next request (RFC 9112 §6.1).
 */
export function transferEncodingProblem(request: IncomingMessage): string | undefined {
  const encoding = request.headers['transfer-encoding'];
  if (encoding === undefined) {
    return undefined;
  }
  if (request.httpVersion !== '1.1') {
    return 'needs HTTP/1.1';
  }
  return encoding.trim().toLowerCase() === 'chunked' ? undefined : 'must be chunked';
}
