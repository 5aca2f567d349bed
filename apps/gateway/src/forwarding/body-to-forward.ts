import type { IncomingMessage } from 'node:http';
import { Transform } from 'node:stream';
import { ApiError } from '@gatehouse/api-envelope';
import { sendContinue } from '@gatehouse/http-server';
import type { BodyStream } from '../upstream/http1/outgoing-request.ts';

/** Of a body, before a connection to the service is taken: nearly all are whole by then. */
const READ_AHEAD_BYTES = 64 * 1024;

/**
 * The body of a request on its way to a service, counted: whole where it is small, so that a caller who sends it
 * slowly keeps no connection to the service meanwhile (CWE-400), and otherwise as a stream. The stream stands
 * between the two sockets, so that the end of the exchange with the service does not cut the caller's connection
 * before the reply is out.
 *
 * @throws ApiError `payload_too_large`
 */
export async function bodyToForward(
  request: IncomingMessage,
  limitBytes: number,
): Promise<Buffer | BodyStream> {
  let size = 0;
  let isWhole = false;
  let counted: Transform | undefined;
  await new Promise<void>((resolve, reject) => {
    counted = new Transform({
      readableHighWaterMark: READ_AHEAD_BYTES,
      transform(chunk: Buffer, _encoding, done) {
        size += chunk.length;
        done(size > limitBytes ? new ApiError('payload_too_large') : null, chunk);
        if (size >= READ_AHEAD_BYTES) {
          resolve();
        }
      },
      flush(done) {
        isWhole = size < READ_AHEAD_BYTES;
        done();
        resolve();
      },
    });
    // It stays: after an early answer nobody listens to it any more, and an error without a listener ends the process.
    counted.on('error', reject);
    // Nobody is left to read the answer; the promise must settle all the same.
    request.once('close', () => reject(new ApiError('illegal_argument')));
    sendContinue(request);
    request.pipe(counted);
  });
  if (counted === undefined) {
    throw new Error('The body was not read.');
  }
  if (isWhole) {
    return (counted.read() as Buffer | null) ?? Buffer.alloc(0);
  }
  const announced = request.headers['content-length'];
  return { stream: counted, length: announced === undefined ? undefined : Number(announced) };
}
