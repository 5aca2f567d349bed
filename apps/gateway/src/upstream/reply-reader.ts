/** The service violated RFC 9112, or sent a reply that two readers could parse differently. */
export class MalformedReplyError extends Error {
  override name = 'MalformedReplyError';
}

/** Of the head, of all interim heads, and of all trailers. */
const HEAD_LIMIT_BYTES = 16 * 1024;
const LINE_LIMIT_BYTES = 1024;
const NO_BYTES = Buffer.alloc(0);

/** At most 32 bits. Chunk extensions are ignored, quoted ones rejected. */
const CHUNK_SIZE =
  /^([0-9a-f]{1,8})(?:;[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:=[!#$%&'*+.^_`|~0-9A-Za-z-]+)?)*$/i;
const TRAILER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/;
const BARE_LINE_FEED = /(?:^|[^\r])\n/;

type ReplyHead = ReturnType<typeof parseReplyHead>;
type State = 'head' | 'length' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailers';

/**
 * Reads the replies of one connection, one after the other. Rejects every deviation from RFC 9112,
 * after which the connection cannot be reused.
 */
export class ReplyReader {
  isOver = true;
  /** How long the connection may stay idle after the last reply. */
  reusableMilliseconds = 0;
  readonly #onHead: (head: ReplyHead) => void;
  readonly #onData: (chunk: Buffer) => void;
  #state: State = 'head';
  #method = '';
  #hasBody = false;
  /** The start of an incomplete head or line. */
  #held: Buffer = NO_BYTES;
  /** Of interim heads and of trailers. */
  #extraBytes = 0;
  /** Bytes missing of a body or a chunk. */
  #missing = 0;

  /** @param onData may keep the bytes */
  constructor(onHead: (head: ReplyHead) => void, onData: (chunk: Buffer) => void) {
    this.#onHead = onHead;
    this.#onData = onData;
  }

  /** The reply ends when the service closes the connection. */
  get isOverAtClose(): boolean {
    return this.#missing === Number.POSITIVE_INFINITY;
  }

  /** Called when a request was sent. The next reply belongs to it. */
  begin(method: string): void {
    this.#method = method;
    this.#state = 'head';
    this.isOver = false;
    this.#held = NO_BYTES;
    this.#extraBytes = 0;
    this.#missing = 0;
  }

  /**
   * Rejects bytes after the end of a reply, except after one that must have no body: there the
   * connection handles the rest.
   *
   * @param bytes may be overwritten after the call
   * @returns how many of the bytes belong to the reply
   * @throws MalformedReplyError
   */
  read(bytes: Uint8Array): number {
    let rest = Buffer.concat([this.#held, bytes]);
    this.#held = NO_BYTES;
    while (rest.length > 0 && !this.isOver) {
      const isData = this.#state === 'length' || this.#state === 'chunk';
      let taken: number;
      if (this.#state === 'head') {
        taken = this.#readHead(rest);
      } else {
        taken = isData ? this.#readData(rest) : this.#readLine(rest);
      }
      if (taken === 0) {
        this.#held = rest;
        return bytes.length;
      }
      rest = rest.subarray(taken);
    }
    if (rest.length > 0 && this.#hasBody) {
      throw new MalformedReplyError('The reply is longer than announced.');
    }
    return bytes.length - rest.length;
  }

  /** Returns how many bytes were read: none if the part is incomplete. */
  #readHead(bytes: Buffer): number {
    const end = bytes.indexOf('\r\n\r\n', 0, 'latin1');
    if (end === -1 || end + 4 > HEAD_LIMIT_BYTES) {
      if (bytes.length > HEAD_LIMIT_BYTES || BARE_LINE_FEED.test(bytes.toString('latin1'))) {
        throw new MalformedReplyError('The head of the reply has no end.');
      }
      return 0;
    }
    const head = parseReplyHead(bytes.toString('latin1', 0, end), this.#method);
    const { status, framing, reusableMilliseconds } = head;
    if (status < 200) {
      if (status === 101 || reusableMilliseconds === 0) {
        throw new MalformedReplyError(`The service answered ${status} out of place.`);
      }
      this.#assertShort(end);
      return end + 4;
    }
    this.reusableMilliseconds = reusableMilliseconds;
    this.#hasBody = framing !== 'none';
    this.#onHead(head);
    if (framing === 'chunked') {
      this.#state = 'chunk-size';
    } else {
      this.#state = 'length';
      this.#missing = framing === 'none' ? 0 : framing;
      this.isOver = this.#missing === 0;
    }
    return end + 4;
  }

  #readData(bytes: Buffer): number {
    const chunk = bytes.subarray(0, this.#missing);
    this.#missing -= chunk.length;
    this.#onData(chunk);
    if (this.#missing === 0) {
      this.isOver = this.#state === 'length';
      this.#state = 'chunk-end';
    }
    return chunk.length;
  }

  /** Reads a line of a chunked body: a size, the end of a chunk, or a trailer. */
  #readLine(bytes: Buffer): number {
    const lineFeed = bytes.indexOf('\n');
    const length = lineFeed === -1 ? bytes.length : lineFeed + 1;
    const line = bytes.toString('latin1', 0, length);
    if (length > LINE_LIMIT_BYTES || (lineFeed !== -1 && !line.endsWith('\r\n'))) {
      throw new MalformedReplyError('A line of the chunked reply has no end.');
    }
    if (lineFeed === -1) {
      return 0;
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
      this.isOver = true;
    } else {
      // Trailers are dropped: nothing after the body may change what the head stated.
      if (!TRAILER.test(line)) {
        throw new MalformedReplyError('The reply has an invalid trailer.');
      }
      this.#assertShort(line.length);
    }
  }

  #assertShort(extraBytes: number): void {
    this.#extraBytes += extraBytes;
    if (this.#extraBytes > HEAD_LIMIT_BYTES) {
      throw new MalformedReplyError('The interim replies or trailers have no end.');
    }
  }
}

/**
 * The complete grammar of a head without its empty line: no folding, no bare CR or LF, no space
 * before a colon. The gateway repairs nothing: a reply that two readers split in different places
 * gives one caller another caller's answer (CWE-444).
 */
const HEAD =
  /^HTTP\/1\.[01] [1-5]\d\d(?: [\t\x20-\x7e\x80-\xff]*)?(?:\r\n[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*)*$/;
/** `trim` would also remove a no-break space, and tabs, which some readers do not treat as a space. */
const OUTER_SPACES = /^ +| +$/g;
const DECISIVE = new Set(['content-length', 'transfer-encoding', 'connection', 'keep-alive']);
const LENGTH = /^\d{1,15}$/;
const KEEP_ALIVE_HINT = /(?:^|[,;\s])timeout=(\d{1,6})/i;

/** The announced idle time, unless a service announces less. */
const IDLE_SECONDS = 5;
/** Margin, so that a request does not meet the service's close of the connection. */
const IDLE_MARGIN_SECONDS = 1;

/**
 * How the end of the body is found (RFC 9112 §6.3), and how long the connection may stay idle after
 * this reply: not at all if it is not reused.
 *
 * @param head as Latin-1 text, without the empty line at its end
 * @throws MalformedReplyError
 */
function parseReplyHead(head: string, method: string) {
  if (!HEAD.test(head)) {
    throw new MalformedReplyError('The head of the reply is not HTTP/1.1.');
  }
  const status = Number(head.slice(9, 12));
  const headers: string[] = [];
  const found: Record<string, string | undefined> = {};
  for (const line of head.split('\r\n').slice(1)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).replace(OUTER_SPACES, '');
    headers.push(name, value);
    if (DECISIVE.has(name)) {
      found[name] = found[name] === undefined ? value : `${found[name]}, ${value}`;
    }
  }
  const isHttp11 = head.startsWith('HTTP/1.1');
  const { framing, isComplete } = framingOf(status, method, isHttp11, found);
  const { connection = 'keep-alive', 'keep-alive': keepAlive = '' } = found;
  const isReusable = isHttp11 && isComplete && connection.toLowerCase() === 'keep-alive';
  const announced = Number(KEEP_ALIVE_HINT.exec(keepAlive)?.[1] ?? IDLE_SECONDS);
  const idleSeconds = Math.max(0, Math.min(IDLE_SECONDS, announced) - IDLE_MARGIN_SECONDS);
  return { status, headers, framing, reusableMilliseconds: isReusable ? idleSeconds * 1000 : 0 };
}

/** `isComplete`: nothing can follow on the connection that would be read as the next reply. */
function framingOf(
  status: number,
  method: string,
  isHttp11: boolean,
  found: Readonly<Record<string, string | undefined>>,
) {
  const { 'content-length': length, 'transfer-encoding': encoding } = found;
  const isChunked = encoding?.toLowerCase() === 'chunked' && length === undefined && isHttp11;
  if (encoding !== undefined && !isChunked) {
    throw new MalformedReplyError('The transfer encoding of the reply is not chunked alone.');
  }
  if (length !== undefined && !LENGTH.test(length)) {
    throw new MalformedReplyError('The length of the reply is no number.');
  }
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304) {
    // A service may send a body where none is allowed.
    const hasBody = isChunked || Number(length ?? 0) > 0 || (method === 'HEAD' && status >= 200);
    return { framing: 'none' as const, isComplete: !hasBody };
  }
  // A body without a length ends with the connection.
  const framing = isChunked ? ('chunked' as const) : Number(length ?? Infinity);
  return { framing, isComplete: framing !== Infinity };
}
