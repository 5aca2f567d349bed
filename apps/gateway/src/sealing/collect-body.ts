import { ApiError } from '@gatehouse/errors';
import type { StreamedBody } from '../http/streamed-body.ts';

/**
 * Rejects with ApiError `bad_gateway` above the limit, or with the error that ended the body early.
 */
export function collectBody(body: StreamedBody, limitBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    body.connect({
      write(chunk) {
        size += chunk.length;
        chunks.push(chunk);
        if (size > limitBytes) {
          body.cancel(
            new ApiError('bad_gateway', {
              message: 'The reply is too large to be signed.',
              reason: 'reply_too_large_to_sign',
            }),
          );
        }
        return true;
      },
      end: () => resolve(Buffer.concat(chunks, size)),
      fail: reject,
    });
  });
}
