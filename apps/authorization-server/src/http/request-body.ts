import type { IncomingMessage } from 'node:http';

/** The provider's own limit, past which it stops reading. */
export const MAXIMUM_BODY_BYTES = 56 * 1024;

/** Thrown into the provider's reading of a body without Content-Length; it arrives as its error's cause. */
export class BodyTooLargeError extends Error {
  constructor() {
    super('The body is too large.');
    this.name = 'BodyTooLargeError';
  }
}

/** Counts what the provider reads of a chunked body, so that one over the limit can be told from a malformed one. */
export function limitBody(request: IncomingMessage): void {
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

/** The whole body, or undefined when it is over the limit: then what follows is not read. */
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
 * A body whose length was declared and is within the limit, by events: an iterator costs more than the body.
 *
 * @throws Error when the caller leaves before its end
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
    request.on('close', () => reject(new Error('The caller left.')));
  });
}
