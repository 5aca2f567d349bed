import type { IncomingMessage } from 'node:http';
import { ApiError } from '@gatehouse/errors';
import { transferEncodingProblem } from '@gatehouse/server';

/**
 * Request smuggling: a caller and this service could disagree about where a body ends, for example
 * with `Transfer-Encoding` in HTTP/1.0 (RFC 9112 §6.1). The connection closes after the reply.
 *
 * @throws ApiError `illegal_argument`
 */
export function rejectAmbiguousFraming(request: IncomingMessage): void {
  const message = transferEncodingProblem(request);
  if (message !== undefined) {
    throw new ApiError('illegal_argument', {
      message: `Transfer-Encoding: ${message}`,
      result: [{ property: 'Transfer-Encoding', message }],
      headers: { Connection: 'close' },
      reason: 'framing_ambiguous',
    });
  }
}
