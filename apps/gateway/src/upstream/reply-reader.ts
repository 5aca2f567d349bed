import { MalformedReplyError, parseReplyHead, type ReplyHead } from './reply-head.ts';

/** Receives the parts of a reply as they arrive. */
export interface ReplyListener {
  onHead(head: ReplyHead): void;
  /** The listener may keep the bytes. */
  onData(chunk: Buffer): void;
  onEnd(): void;
}

const HEAD_LIMIT_BYTES = 16 * 1024;
const LINE_LIMIT_BYTES = 1024;
const MAXIMUM_INTERIM_REPLIES = 8;
const NO_BYTES = Buffer.alloc(0);

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
  #held: Buffer = NO_BYTES;
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
    this.#held = NO_BYTES;
    this.#interimReplies = 0;
    this.#trailerBytes = 0;
  }

  /**
   * Rejects bytes after the end of a reply, except after one that must have no body: there the
   * connection handles the rest.
   *
   * @param bytes may be overwritten after the call
   * @returns how many of the bytes belong to the reply
   * @throws MalformedReplyError
   */
  read(bytes: Buffer): number {
    let rest = Buffer.concat([this.#held, bytes]);
    this.#held = NO_BYTES;
    while (rest.length > 0 && !this.#isOver) {
      const taken = this.#readPart(rest);
      if (taken === 0) {
        this.#held = rest;
        return bytes.length;
      }
      rest = rest.subarray(taken);
    }
    if (this.#isOver) {
      if (rest.length > 0 && this.#hasBody) {
        throw new MalformedReplyError('The reply is longer than announced.');
      }
      this.#listener.onEnd();
    }
    return bytes.length - rest.length;
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

  /** Returns how many bytes were read: none if the part is incomplete. */
  #readPart(bytes: Buffer): number {
    switch (this.#state) {
      case 'head':
        return this.#readHead(bytes);
      case 'until-close':
        this.#listener.onData(bytes);
        return bytes.length;
      case 'length':
      case 'chunk':
        return this.#readData(bytes);
      default:
        return this.#readLine(bytes);
    }
  }

  #readHead(bytes: Buffer): number {
    const end = bytes.indexOf('\r\n\r\n', 0, 'latin1');
    if (end === -1 || end + 4 > HEAD_LIMIT_BYTES) {
      if (bytes.length > HEAD_LIMIT_BYTES || BARE_LINE_FEED.test(bytes.toString('latin1'))) {
        throw new MalformedReplyError('The head of the reply has no end.');
      }
      return 0;
    }
    this.#begin(parseReplyHead(bytes.toString('latin1', 0, end), this.#method));
    return end + 4;
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
    } else if (typeof framing === 'number') {
      this.#state = 'length';
      this.#missing = framing;
    } else {
      this.#state = framing === 'chunked' ? 'chunk-size' : framing;
    }
  }

  #readData(bytes: Buffer): number {
    const chunk = bytes.subarray(0, this.#missing);
    this.#missing -= chunk.length;
    this.#listener.onData(chunk);
    if (this.#missing === 0) {
      this.#isOver = this.#state === 'length';
      this.#state = 'chunk-end';
    }
    return chunk.length;
  }

  /** Reads a line of a chunked body: a size, the end of a chunk, or a trailer. */
  #readLine(bytes: Buffer): number {
    const lineFeed = bytes.indexOf('\n');
    const length = lineFeed === -1 ? bytes.length : lineFeed + 1;
    if (length > LINE_LIMIT_BYTES) {
      throw new MalformedReplyError('A line of the chunked reply is too long.');
    }
    if (lineFeed === -1) {
      return 0;
    }
    const line = bytes.toString('latin1', 0, length);
    if (!line.endsWith('\r\n')) {
      throw new MalformedReplyError('A line of the chunked reply does not end with CRLF.');
    }
    this.#takeLine(line.slice(0, -2));
    return length;
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
      // Trailers are dropped: nothing after the body may change what the head stated.
      this.#trailerBytes += line.length;
      if (!TRAILER.test(line) || this.#trailerBytes > HEAD_LIMIT_BYTES) {
        throw new MalformedReplyError('The reply has an invalid trailer.');
      }
    }
  }
}
