import type { IncomingMessage } from 'node:http';
import { ApiError } from '@gatehouse/errors';
import { received } from './header-names.ts';

/** Whether the request has a body (RFC 9112 §6.3). */
export function hasBody(request: IncomingMessage): boolean {
  const { headers } = request;
  return (
    headers[received.transferEncoding] !== undefined ||
    Number(headers[received.contentLength] ?? 0) > 0
  );
}

/**
 * @throws ApiError `payload_too_large` if Content-Length exceeds the limit, before any byte is read
 */
export function assertAnnouncedSize(request: IncomingMessage, limitBytes: number): void {
  if (Number(request.headers[received.contentLength] ?? 0) > limitBytes) {
    throw new ApiError('payload_too_large');
  }
}
