import type { IncomingMessage } from 'node:http';
import { ApiError } from '@gatehouse/errors';
import { sendContinue } from '@gatehouse/server';
import { assertAnnouncedSize, hasBody } from '../http/request-body.ts';
import type { HeldBody } from './held-bodies.ts';

/**
 * Reads the whole body. It counts each chunk, so that it never holds more than the limit.
 *
 * @throws ApiError `payload_too_large`, or an error of `held`
 */
export async function readSignedBody(
  request: IncomingMessage,
  limitBytes: number,
  held: HeldBody,
): Promise<Buffer> {
  assertAnnouncedSize(request, limitBytes);
  if (!hasBody(request)) {
    return Buffer.alloc(0);
  }
  sendContinue(request);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const refuse = (refusal: unknown) => {
      request.off('data', onData);
      request.pause();
      // Frees the memory now, not after the reply.
      chunks.length = 0;
      reject(refusal);
    };
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      try {
        if (size > limitBytes) {
          throw new ApiError('payload_too_large');
        }
        held.grow(chunk.length);
        chunks.push(chunk);
      } catch (refusal) {
        refuse(refusal);
      }
    };
    held.begin(refuse);
    request.on('data', onData);
    request.once('end', () => {
      held.complete();
      resolve(Buffer.concat(chunks, size));
    });
    request.once('error', reject);
    // The caller has left and reads no reply, but the promise must settle.
    request.once('close', () =>
      reject(new ApiError('illegal_argument', { reason: 'body_incomplete' })),
    );
  });
}
