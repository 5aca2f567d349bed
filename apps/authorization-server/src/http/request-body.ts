import type { IncomingMessage } from 'node:http';

/** The provider's own limit, after which it stops reading. */
export const MAXIMUM_BODY_BYTES = 56 * 1024;

/**
 * Thrown while the provider reads a body without Content-Length. It becomes the cause of the
 * provider's error.
 */
export class BodyTooLargeError extends Error {
  constructor() {
    super('The body is too large.');
    this.name = 'BodyTooLargeError';
  }
}

/**
 * Counts the bytes of a chunked body, so that a body over the limit differs from a malformed one.
 */
export function countBodyBytes(request: IncomingMessage): void {
  if (request.headers['content-length'] !== undefined) {
    return;
  }
  const iterate = request.iterator.bind(request);
  request.iterator = (options) => countBytes(iterate(options));
}

async function* countBytes(chunks: AsyncIterable<Buffer>): NodeJS.AsyncIterator<Buffer> {
  let received = 0;
  for await (const chunk of chunks) {
    received += chunk.length;
    if (received > MAXIMUM_BODY_BYTES) {
      throw new BodyTooLargeError();
    }
    yield chunk;
  }
}

/** The whole body, or undefined when it is over the limit. The rest is then not read. */
export async function readLimitedBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let received = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    received += chunk.length;
    if (received > MAXIMUM_BODY_BYTES) {
      return undefined;
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Reads a body with a declared length within the limit. Events cost less than an iterator.
 *
 * @throws Error when the caller disconnects before the end of the body
 */
export function readDeclaredBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const [first] = chunks;
      resolve(first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks));
    });
    request.on('error', reject);
    request.on('close', () => reject(new Error('The caller disconnected.')));
  });
}
