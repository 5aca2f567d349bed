import type { IncomingMessage } from 'node:http';

const LINGER_MILLISECONDS = 500;
/** More than a body that is just over the usual limit: a proxy that meets a reset while it sends says 502 for it. */
const LINGER_BYTES = 2 * 1024 * 1024;

/**
 * Takes in, for a short while, what the caller is still sending. Closing at once would make its system
 * answer with a reset, which can overtake the reply (RFC 9112 §9.6).
 */
export function lingerBeforeClose(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    let size = 0;
    const timer = setTimeout(resolve, LINGER_MILLISECONDS);
    const finish = () => {
      clearTimeout(timer);
      resolve();
    };
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > LINGER_BYTES) {
        finish();
      }
    });
    request.once('close', finish);
    request.once('end', finish);
    request.resume();
  });
}
