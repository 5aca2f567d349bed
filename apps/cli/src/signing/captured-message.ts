import { UsageError } from '../command-line/command.ts';
import { decodeChunks } from './decode-chunks.ts';
import { visibleLine } from './visible-text.ts';

/** A request or reply as it was on the wire. */
export interface CapturedMessage {
  readonly startLine: string;
  /** Names and values in turn, as Node reports them. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  /** Assumptions about the capture. */
  readonly notes: readonly string[];
}

const REQUEST_LINE = /^[A-Za-z]+ \S+ HTTP\/\d(?:\.\d)?$/;
const STATUS_LINE = /^HTTP\/\d(?:\.\d)? \d{3}(?: .*)?$/;

/**
 * Reads a start line, headers, an empty line and a body. Lines may end with LF or CR LF. In the
 * output of `curl --verbose`, only the lines of the request count.
 *
 * @param bodyFile the body, if the capture does not contain it
 * @throws UsageError
 */
export function readCapture(bytes: Buffer, bodyFile: Buffer | undefined): CapturedMessage {
  const { head, body } = withoutInterimReply(split(withoutVerbosePrefix(bytes)));
  const [startLine = '', ...lines] = head;
  if (!REQUEST_LINE.test(startLine) && !STATUS_LINE.test(startLine)) {
    throw new UsageError(
      'The first line must be a request line (GET /path HTTP/1.1) or a status line (HTTP/1.1 200).',
    );
  }
  const rawHeaders = lines.flatMap(readHeader);
  const isReply = STATUS_LINE.test(startLine);
  if (bodyFile !== undefined) {
    return { startLine, rawHeaders, body: bodyFile, notes: [] };
  }
  return { startLine, rawHeaders, ...frame(body, rawHeaders, isReply) };
}

/** The value of the first header with this name, as Node keeps it. */
export function headerOf(rawHeaders: readonly string[], name: string): string | undefined {
  const index = rawHeaders.findIndex(
    (given, position) => position % 2 === 0 && given.toLowerCase() === name,
  );
  return index === -1 ? undefined : rawHeaders[index + 1];
}

interface Split {
  readonly head: readonly string[];
  readonly body: Buffer;
}

/** HTTP headers are bytes. Node reads them as Latin-1, too. */
function split(bytes: Buffer): Split {
  const text = bytes.toString('latin1');
  const start = /^\s*/.exec(text)?.[0].length ?? 0;
  const end = /\r?\n\r?\n/g;
  end.lastIndex = start;
  const found = end.exec(text);
  const head = text.slice(start, found?.index ?? text.trimEnd().length);
  return {
    head: head.split(/\r?\n/),
    body: found === null ? Buffer.alloc(0) : bytes.subarray(end.lastIndex),
  };
}

function withoutInterimReply(parts: Split): Split {
  return /^HTTP\/\d(?:\.\d)? 1\d\d\b/.test(parts.head[0] ?? '')
    ? withoutInterimReply(split(parts.body))
    : parts;
}

/**
 * curl marks the lines of the request with `>`, those of the reply with `<`, and its own with `*`.
 */
function withoutVerbosePrefix(bytes: Buffer): Buffer {
  const lines = bytes.toString('latin1').split(/\r?\n/);
  // A capture that begins with a message is that message, whatever its body contains.
  if (isStartLine(lines.find((line) => line !== '') ?? '')) {
    return bytes;
  }
  const prefix = ['> ', '< '].find((each) =>
    lines.some((line) => line.startsWith(each) && isStartLine(line.slice(each.length))),
  );
  if (prefix === undefined) {
    return bytes;
  }
  const start = lines.findIndex(
    (line) => line.startsWith(prefix) && isStartLine(line.slice(prefix.length)),
  );
  const marked = lines.slice(start).filter((line) => line.startsWith(prefix.trim()));
  const head = marked.map((line) => line.slice(prefix.length));
  const end = head.indexOf('');
  return Buffer.from(`${head.slice(0, end === -1 ? undefined : end).join('\n')}\n\n`, 'latin1');
}

function isStartLine(line: string): boolean {
  return REQUEST_LINE.test(line) || STATUS_LINE.test(line);
}

function readHeader(line: string, index: number): readonly string[] {
  const [, name, value = ''] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? [];
  if (name === undefined) {
    throw new UsageError(
      `Line ${index + 2} of the capture is not a header. An empty line must follow the headers.`,
    );
  }
  return [name, value];
}

/** Finds the end of the body (RFC 9112 §6.3). */
function frame(
  rest: Buffer,
  rawHeaders: readonly string[],
  isReply: boolean,
): Pick<CapturedMessage, 'body' | 'notes'> {
  if (headerOf(rawHeaders, 'transfer-encoding') !== undefined) {
    const decoded = decodeChunks(rest);
    return decoded === undefined
      ? { body: rest, notes: ['The body is not in chunks, so it is taken as it is.'] }
      : { body: decoded, notes: [] };
  }
  const announced = headerOf(rawHeaders, 'content-length');
  if (announced === undefined) {
    return rest.length === 0
      ? { body: rest, notes: [] }
      : { body: rest, notes: ['No Content-Length: the body is everything after the empty line.'] };
  }
  const length = Number(announced);
  if (rest.length === 0 && isReply) {
    return { body: rest, notes: ['The capture has no body, so this is the reply to a HEAD.'] };
  }
  if (!Number.isInteger(length) || rest.length < length) {
    throw new UsageError(
      `Content-Length is ${visibleLine(announced)}, but the capture has ${rest.length} bytes after the empty line.`,
      ['Capture the body, or name a file with it: --body-file'],
    );
  }
  return {
    body: rest.subarray(0, length),
    notes:
      rest.length === length
        ? []
        : [`The ${rest.length - length} bytes after the body (Content-Length) are ignored.`],
  };
}
