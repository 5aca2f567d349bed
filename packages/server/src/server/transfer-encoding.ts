import type { IncomingMessage } from 'node:http';

/**
 * Returns why the end of a request body is ambiguous, or undefined. Node accepts `gzip, chunked`
 * without decoding it. Node also reads chunks in an HTTP/1.0 request, which a proxy can treat as
 * the start of the next request (RFC 9112 §6.1).
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
