import type { IncomingMessage } from 'node:http';
import { DEFAULT_BODY_LIMIT_BYTES } from '@gatehouse/device-api';
import { ApiError, illegalArgument } from '@gatehouse/errors';
import { parseStrictJson, StrictJsonError } from '@gatehouse/server';
import { readBody } from './read-body.ts';

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
