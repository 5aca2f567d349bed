import type { IncomingMessage } from 'node:http';
import { ApiError } from '@gatehouse/api-envelope';

/** How much of a body that is too large is read and thrown away, so that its sender gets to read the 413. */
const MAX_DISCARDED_BYTES = 8 * 1024 * 1024;

/**
 * Collects the body, keeping at most `limitBytes` of it in memory, whatever its Content-Length says.
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
      } else if (length > limitBytes + MAX_DISCARDED_BYTES) {
        break;
      }
    }
  } catch (cause) {
    throw new ApiError('illegal_argument', { message: 'The body was cut off.', cause });
  }
  if (length > limitBytes) {
    throw new ApiError('payload_too_large', { headers: { Connection: 'close' } });
  }
  return Buffer.concat(chunks);
}
