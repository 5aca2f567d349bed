import type { IncomingMessage } from 'node:http';
import { ApiError, illegalArgument } from '@gatehouse/errors';

/** The JSON text is rejected. The message names the problem and its position, never the text. */
export class StrictJsonError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StrictJsonError';
  }
}

const MAXIMUM_DEPTH = 64;

/** A server discards this much of a large body, so that the caller can read the 413. */
const DISCARDED_BYTES = 8 * 1024 * 1024;

/**
 * Reads a body as uncompressed UTF-8 JSON that every parser reads alike. Keeps at most `limitBytes` in
 * memory, whatever the Content-Length is. The app checks the media type.
 *
 * @throws ApiError `unsupported_media_type`, `illegal_argument`, and `payload_too_large`, which also
 *   closes the connection
 */
export async function readStrictJson(
  request: IncomingMessage,
  limitBytes: number,
): Promise<unknown> {
  if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
    throw new ApiError('unsupported_media_type', { message: 'The body must not be compressed.' });
  }
  const bytes = await readBytes(request, limitBytes);
  try {
    return parseStrictJson(bytes);
  } catch (error) {
    throw illegalArgument([{ property: 'body', message: (error as StrictJsonError).message }]);
  }
}

async function readBytes(request: IncomingMessage, limitBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      length += chunk.length;
      if (length <= limitBytes) {
        chunks.push(chunk);
      } else if (length > limitBytes + DISCARDED_BYTES) {
        break;
      }
    }
  } catch (cause) {
    const message = 'The body is incomplete.';
    throw new ApiError('illegal_argument', { message, cause, reason: 'body_incomplete' });
  }
  if (length > limitBytes) {
    const message = `The body is larger than ${limitBytes} bytes.`;
    throw new ApiError('payload_too_large', { message, headers: { Connection: 'close' } });
  }
  return Buffer.concat(chunks);
}

/**
 * Parses a JSON text, or its UTF-8 bytes, that every parser reads alike (RFC 8259 §4). Rejects
 * repeated member names, the name `__proto__`, a byte order mark and more than 64 levels of nesting,
 * which `JSON.parse` accepts.
 *
 * @throws StrictJsonError
 */
export function parseStrictJson(input: string | Uint8Array): unknown {
  const text = typeof input === 'string' ? input : decode(input);
  if (text.startsWith('\uFEFF')) {
    throw new StrictJsonError('must not start with a byte order mark');
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new StrictJsonError('is not valid JSON');
  }
  assertUnambiguous(text);
  return value;
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new StrictJsonError('is not valid UTF-8');
  }
}

/** The text is valid JSON, so only its strings, brackets and commas matter. */
function assertUnambiguous(text: string): void {
  /** The member names of each open object so far. Undefined for an array. */
  const open: (Set<string> | undefined)[] = [];
  let expectsName = false;
  for (let position = 0; position < text.length; position += 1) {
    switch (text[position]) {
      case '{':
      case '[':
        expectsName = text[position] === '{';
        open.push(expectsName ? new Set() : undefined);
        if (open.length > MAXIMUM_DEPTH) {
          const message = `is nested deeper than ${MAXIMUM_DEPTH} at character ${position}`;
          throw new StrictJsonError(message);
        }
        break;
      case '}':
      case ']':
        open.pop();
        expectsName = false;
        break;
      case ',':
        expectsName = open.at(-1) !== undefined;
        break;
      case '"': {
        const end = endOfString(text, position);
        if (expectsName) {
          addName(open.at(-1), text.slice(position, end), position);
          expectsName = false;
        }
        position = end - 1;
        break;
      }
    }
  }
}

/** Compares decoded names: `"\u0061"` is `"a"`. */
function addName(names: Set<string> | undefined, literal: string, position: number): void {
  // Slicing is much faster than parsing. A large body can have a million names without escapes.
  const name = literal.includes('\\') ? (JSON.parse(literal) as string) : literal.slice(1, -1);
  if (name === '__proto__') {
    throw new StrictJsonError(`has a forbidden member name at character ${position}`);
  }
  if (names?.has(name)) {
    throw new StrictJsonError(`repeats a member name at character ${position}`);
  }
  names?.add(name);
}

/** The position after the closing quote of the string that opens at `start`. */
function endOfString(text: string, start: number): number {
  let position = start + 1;
  while (text[position] !== '"') {
    position += text[position] === '\\' ? 2 : 1;
  }
  return position + 1;
}
