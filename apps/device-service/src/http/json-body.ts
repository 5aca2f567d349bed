import type { IncomingMessage } from 'node:http';
import { DEFAULT_BODY_LIMIT_BYTES } from '@gatehouse/device-api';
import { ApiError, illegalArgument } from '@gatehouse/errors';
import { parseStrictJson, StrictJsonError } from '@gatehouse/server';

const JSON_MEDIA_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?;?$/i;

/**
 * Reads a body as uncompressed UTF-8 JSON that every reader understands the same way.
 *
 * @throws ApiError `unsupported_media_type`, `payload_too_large`, `illegal_argument`
 */
export async function readJsonBody(
  request: IncomingMessage,
  limitBytes = DEFAULT_BODY_LIMIT_BYTES,
): Promise<unknown> {
  assertPlainJson(request);
  const text = decodeUtf8(await readBody(request, limitBytes));
  try {
    return parseStrictJson(text);
  } catch (error) {
    throw error instanceof StrictJsonError ? illegalBody(error.message) : error;
  }
}

function assertPlainJson(request: IncomingMessage): void {
  if (!JSON_MEDIA_TYPE.test(request.headers['content-type'] ?? '')) {
    throw new ApiError('unsupported_media_type', {
      message: 'The body must have Content-Type: application/json.',
    });
  }
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    throw new ApiError('unsupported_media_type', {
      message: 'The body must not be compressed.',
    });
  }
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw illegalBody('is not valid UTF-8');
  }
}

function illegalBody(message: string): ApiError {
  return illegalArgument([{ property: 'body', message }]);
}

/** The service discards this much of a large body, so that the client can read the 413. */
const MAXIMUM_DISCARDED_BYTES = 8 * 1024 * 1024;

/**
 * Collects the body. Keeps at most `limitBytes` in memory, whatever the Content-Length is.
 *
 * @throws ApiError `payload_too_large`, which also closes the connection
 */
async function readBody(request: IncomingMessage, limitBytes: number): Promise<Uint8Array> {
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
