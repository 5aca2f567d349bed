import { MalformedReplyError, parseReplyHead, type ReplyHead } from './reply-head.ts';

/** Receives the parts of a reply as they arrive. */
export interface ReplyListener {
  onHead(head: ReplyHead): void;
  /** The listener may keep the bytes. */
  onData(chunk: Buffer): void;
  onEnd(): void;
}

const HEAD_LIMIT_BYTES = 16 * 1024;
/** Most heads are shorter. Decoding more would decode the body, too. */
const HEAD_STEP_BYTES = 1024;
const LINE_LIMIT_BYTES = 1024;
const MAXIMUM_INTERIM_REPLIES = 8;
const LINE_FEED = 0x0a;

/** At most 32 bits. Chunk extensions are ignored, quoted ones rejected. */
const CHUNK_SIZE =
  /^([0-9a-f]{1,8})(?:;[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:=[!#$%&'*+.^_`|~0-9A-Za-z-]+)?)*$/i;
const TRAILER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/;
const BARE_LINE_FEED = /(?:^|[^\r])\n/;

type State = 'head' | 'length' | 'until-close' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailers';

/**
 * Reads the replies of one connection, one after the other. Rejects every deviation from RFC 9112,
 * after which the connection cannot be reused.
 */
export class ReplyReader {
  readonly #listener: ReplyListener;
  #state: State = 'head';
  #method = '';
  #isOver = true;
  #hasBody = false;
  /** The start of an incomplete head or line. */
  #held = '';
  #interimReplies = 0;
  #trailerBytes = 0;
  /** Bytes missing of a body or a chunk. */
  #missing = 0;
  #reusableMilliseconds = 0;

  constructor(listener: ReplyListener) {
    this.#listener = listener;
  }

  /** How long the connection may stay idle after the last reply. */
  get reusableMilliseconds(): number {
    return this.#reusableMilliseconds;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Called when a request was sent. The next reply belongs to it. */
  begin(method: string): void {
    this.#method = method;
    this.#state = 'head';
    this.#isOver = false;
    this.#held = '';
    this.#interimReplies = 0;
    this.#trailerBytes = 0;
  }

  /**
   * Rejects bytes after the end of a reply, except after one that must have no body: there the
   * connection handles the rest.
   *
   * @returns how many of the bytes belong to the reply
   * @throws MalformedReplyError
   */
  read(bytes: Buffer, length: number): number {
    let position = 0;
    while (position < length && !this.#isOver) {
      position = this.#readPart(bytes, position, length);
    }
    if (this.#isOver) {
      if (position < length && this.#hasBody) {
        throw new MalformedReplyError('The reply is longer than announced.');
      }
      this.#listener.onEnd();
    }
    return position;
  }

  /**
   * The service closed the connection. @throws MalformedReplyError where that was not the end of
   * the reply
   */
  finish(): void {
    if (this.#state !== 'until-close') {
      throw new MalformedReplyError(
        'The service closed the connection before the end of its reply.',
      );
    }
    this.#isOver = true;
    this.#listener.onEnd();
  }

  #readPart(bytes: Buffer, position: number, length: number): number {
    switch (this.#state) {
      case 'head':
        return this.#readHead(bytes, position, length);
      case 'length': {
        const next = this.#readData(bytes, position, length);
        if (this.#missing === 0) {
          this.#isOver = true;
        }
        return next;
      }
      case 'until-close':
        this.#listener.onData(copyOf(bytes, position, length));
        return length;
      case 'chunk': {
        const next = this.#readData(bytes, position, length);
        if (this.#missing === 0) {
          this.#state = 'chunk-end';
        }
        return next;
      }
      default:
        return this.#readLine(bytes, position, length);
    }
  }

  #readHead(bytes: Buffer, position: number, length: number): number {
    const held = this.#held.length;
    const step = Math.min(HEAD_STEP_BYTES, HEAD_LIMIT_BYTES - held + 1);
    const decoded = Math.min(length, position + step);
    const text = this.#held + bytes.toString('latin1', position, decoded);
    const end = text.indexOf('\r\n\r\n');
    if (end === -1) {
      if (text.length > HEAD_LIMIT_BYTES || BARE_LINE_FEED.test(text)) {
        throw new MalformedReplyError('The head of the reply has no end.');
      }
      this.#held = text;
      return decoded;
    }
    this.#held = '';
    const head = parseReplyHead(text.slice(0, end), this.#method);
    this.#begin(head);
    return position + end + 4 - held;
  }

  #begin(head: ReplyHead): void {
    const { status, framing } = head;
    if (status < 200) {
      this.#interimReplies += 1;
      const isLast = status === 101 || head.reusableMilliseconds === 0;
      if (isLast || this.#interimReplies > MAXIMUM_INTERIM_REPLIES) {
        throw new MalformedReplyError(`The service answered ${status} out of place.`);
      }
      return;
    }
    this.#reusableMilliseconds = head.reusableMilliseconds;
    this.#hasBody = framing !== 'none';
    this.#listener.onHead(head);
    if (framing === 'none' || framing === 0) {
      this.#isOver = true;
    } else if (framing === 'chunked') {
      this.#state = 'chunk-size';
    } else if (framing === 'until-close') {
      this.#state = 'until-close';
    } else {
      this.#state = 'length';
      this.#missing = framing;
    }
  }

  #readData(bytes: Buffer, position: number, length: number): number {
    const end = Math.min(length, position + this.#missing);
    this.#missing -= end - position;
    this.#listener.onData(copyOf(bytes, position, end));
    return end;
  }

  /** Reads a line of a chunked body: a size, the end of a chunk, or a trailer. */
  #readLine(bytes: Buffer, position: number, length: number): number {
    const lineFeed = bytes.indexOf(LINE_FEED, position);
    const isComplete = lineFeed !== -1 && lineFeed < length;
    const end = isComplete ? lineFeed + 1 : length;
    if (this.#held.length + end - position > LINE_LIMIT_BYTES) {
      throw new MalformedReplyError('A line of the chunked reply is too long.');
    }
    this.#held += bytes.toString('latin1', position, end);
    if (isComplete) {
      const line = this.#held;
      this.#held = '';
      if (!line.endsWith('\r\n')) {
        throw new MalformedReplyError('A line of the chunked reply does not end with CRLF.');
      }
      this.#takeLine(line.slice(0, -2));
    }
    return end;
  }

  #takeLine(line: string): void {
    if (this.#state === 'chunk-end') {
      if (line !== '') {
        throw new MalformedReplyError('A chunk of the reply is longer than announced.');
      }
      this.#state = 'chunk-size';
    } else if (this.#state === 'chunk-size') {
      const size = CHUNK_SIZE.exec(line)?.[1];
      if (size === undefined) {
        throw new MalformedReplyError('A chunk of the reply has no size.');
      }
      this.#missing = Number.parseInt(size, 16);
      this.#state = this.#missing === 0 ? 'trailers' : 'chunk';
    } else if (line === '') {
      this.#isOver = true;
    } else {
      // Trailers are dropped: nothing after the body may change what the head stated (GW-15).
      this.#trailerBytes += line.length;
      if (!TRAILER.test(line) || this.#trailerBytes > HEAD_LIMIT_BYTES) {
        throw new MalformedReplyError('The reply has an invalid trailer.');
      }
    }
  }
}

function copyOf(bytes: Buffer, from: number, to: number): Buffer {
  const copy = Buffer.allocUnsafe(to - from);
  bytes.copy(copy, 0, from, to);
  return copy;
}
