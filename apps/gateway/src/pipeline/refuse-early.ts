import type { IncomingMessage } from 'node:http';
import { ApiError } from '@gatehouse/api-envelope';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const served: ReadonlySet<string> = new Set(METHODS);

/**
 * What no route ever serves, refused before anything else. It discloses no route, so it needs no credential.
 *
 * @throws ApiError
 */
export function refuseEarly(request: IncomingMessage): void {
  const { method = '', url, headers } = request;
  if (!served.has(method) || url === '*') {
    throw new ApiError('method_not_allowed', { headers: { Allow: METHODS.join(', ') } });
  }
  if (headers.upgrade !== undefined) {
    throw refusal('Upgrade', 'is not accepted');
  }
  // Node takes `gzip, chunked`, and would hand on a body it has not decoded (RFC 9112 §6.1).
  const transferEncoding = headers['transfer-encoding'];
  if (transferEncoding !== undefined && transferEncoding.trim().toLowerCase() !== 'chunked') {
    throw refusal('Transfer-Encoding', 'must be chunked');
  }
  if (headers['content-encoding'] !== undefined) {
    throw new ApiError('unsupported_media_type', { message: 'Send the body without an encoding.' });
  }
  if (hasTwoHosts(request.rawHeaders)) {
    throw refusal('Host', 'was sent twice');
  }
}

/** Node keeps the first and says nothing (RFC 9112 §3.2). */
function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === 'host') {
      hosts += 1;
    }
  }
  return hosts > 1;
}

/** Closes, too: where this ends and the next request begins may be what is in doubt. */
function refusal(property: string, message: string): ApiError {
  return new ApiError('illegal_argument', {
    message: `${property}: ${message}`,
    result: [{ property, message }],
    headers: { Connection: 'close' },
  });
}
