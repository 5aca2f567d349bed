import type { IncomingMessage } from 'node:http';
import { Transform } from 'node:stream';
import { ApiError } from '@gatehouse/api-envelope';
import { sendContinue } from '@gatehouse/http-server';

/**
 * The body of a request on its way to a service, counted. It stands between the two sockets, so that the end
 * of the exchange with the service does not cut the caller's connection before the reply is out.
 */
export function limitBody(request: IncomingMessage, limitBytes: number): Transform {
  let size = 0;
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      done(size > limitBytes ? new ApiError('payload_too_large') : null, chunk);
    },
  });
  // After an early answer nobody listens to it any more, and an error without a listener ends the process.
  counted.on('error', () => {});
  sendContinue(request);
  return request.pipe(counted);
}
