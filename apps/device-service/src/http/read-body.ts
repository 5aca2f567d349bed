import type { IncomingMessage } from 'node:http';
import { ApiError } from '@gatehouse/errors';

/** The service discards this much of a large body, so that the client can read the 413. */
const MAXIMUM_DISCARDED_BYTES = 8 * 1024 * 1024;

/**
 * Collects the body. Keeps at most `limitBytes` in memory, whatever the Content-Length is.
 *
 * @throws ApiError `payload_too_large`, which also closes the connection
 */
export async function readBody(request: IncomingMessage, limitBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      length += chunk.length;
      if (length <= limitBytes) {
        chunks.push(chunk);
      } else if (length > limitBytes + MAXIMUM_DISCARDED_BYTES) {
        break;
      }
    }
  } catch (cause) {
    throw new ApiError('illegal_argument', {
      message: 'The body is incomplete.',
      cause,
      reason: 'body_incomplete',
    });
  }
  if (length > limitBytes) {
    throw new ApiError('payload_too_large', { headers: { Connection: 'close' } });
  }
  return Buffer.concat(chunks);
}
