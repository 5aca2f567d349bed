import type { IncomingMessage } from 'node:http';
import { Transform } from 'node:stream';
import { ApiError } from '@gatehouse/errors';
import { sendContinue } from '@gatehouse/server';
import type { BodyStream } from '../upstream/upstream.ts';

/**
 * How much of a body is read before the request gets a connection. Most bodies are complete by
 * then.
 */
const READ_AHEAD_BYTES = 64 * 1024;

/**
 * Reads the body to forward and enforces its limit. A small body is read completely, so that a slow
 * caller does not occupy a connection to the upstream (CWE-400). A larger body becomes a stream. It
 * separates the two sockets, so that the end of the exchange with the upstream does not close the
 * caller's connection before the reply is sent.
 *
 * @throws ApiError `payload_too_large`
 */
export async function bodyToForward(
  request: IncomingMessage,
  limitBytes: number,
): Promise<Buffer | BodyStream> {
  let size = 0;
  let isWhole = false;
  const reading = Promise.withResolvers<void>();
  const counted = new Transform({
    readableHighWaterMark: READ_AHEAD_BYTES,
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      done(size > limitBytes ? new ApiError('payload_too_large') : null, chunk);
      if (size >= READ_AHEAD_BYTES) {
        reading.resolve();
      }
    },
    flush(done) {
      isWhole = size < READ_AHEAD_BYTES;
      done();
      reading.resolve();
    },
  });
  // Never removed: after an early answer, an error without a listener would end the process.
  counted.on('error', reading.reject);
  // The caller has left and reads no reply, but the promise must settle.
  const leave = () =>
    reading.reject(new ApiError('illegal_argument', { reason: 'body_incomplete' }));
  request.once('close', leave);
  sendContinue(request);
  request.pipe(counted);
  await reading.promise;
  request.off('close', leave);
  if (isWhole) {
    return (counted.read() as Buffer | null) ?? Buffer.alloc(0);
  }
  const announced = request.headers['content-length'];
  return { stream: counted, length: announced === undefined ? undefined : Number(announced) };
}
