import { connect, type Socket } from 'node:net';
import { MalformedReply, type ReplyHead } from './reply-head.ts';
import { type ReplyListener, ReplyReader } from './reply-reader.ts';

/** One request: no body, and headers that are checked here. */
export interface PlainRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Name, value, … */
  readonly headers: readonly string[];
}

/** What whoever waits for a reply may do meanwhile. */
export interface ReplyController {
  pause(): void;
  resume(): void;
  abort(error: Error): void;
}

/** Hears of one exchange: start, then head, data and end, or an error at any time. */
export interface ExchangeHandler {
  onRequestStart(controller: ReplyController): void;
  onResponseStart(controller: ReplyController, status: number, headers: readonly string[]): void;
  onResponseData(controller: ReplyController, chunk: Buffer): void;
  onResponseEnd(): void;
  onResponseError(controller: ReplyController, error: Error): void;
}

/** Whoever lends connections out. */
export interface ConnectionOwner {
  /** The exchange is over; the connection may be used again, but not before what is on its way was read. */
  rest(connection: Connection): void;
  closed(connection: Connection): void;
}

const BUFFER_BYTES = 16 * 1024;
/** Whatever could end a header and begin another (CWE-93). */
const FORBIDDEN = /[^\t\x20-\x7e\x80-\xff]/;
/** A service may insist on a length where these bring none (RFC 9110 §8.6). */
const METHODS_WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);
const FORBIDDEN_IN_PATH = /[^\x21-\x7e]/;

/** A connection to a service, for one exchange at a time: what one caller's reply does never meets another's. */
export class Connection implements ReplyListener, ReplyController {
  readonly #owner: ConnectionOwner;
  readonly #socket: Socket;
  readonly #hostHeader: string;
  readonly #reader = new ReplyReader(this);
  #handler: ExchangeHandler | undefined;
  /** Headers that have nothing forbidden. */
  #checked: readonly string[] = [];
  #isSent = false;
  #isPaused = false;
  #error: Error | undefined;
  /** Monotonic milliseconds: until then it must be connected, or taken up again. */
  expiresAt: number;

  constructor(
    { hostname, port, host }: Pick<URL, 'hostname' | 'port' | 'host'>,
    connectUntil: number,
    owner: ConnectionOwner,
  ) {
    this.#owner = owner;
    this.#hostHeader = `host: ${host}\r\nconnection: keep-alive\r\n`;
    this.expiresAt = connectUntil;
    const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
    this.#socket = connect({
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: Number(port === '' ? 80 : port),
      noDelay: true,
      autoSelectFamily: true,
      // Into one buffer, past the machinery of streams.
      onread: { buffer, callback: (length) => this.#read(buffer, length) },
    });
    this.#socket.on('error', (error) => {
      this.#error = error;
    });
    this.#socket.on('end', () => this.#finish());
    this.#socket.on('close', () => {
      this.#fail(this.#error ?? new Error('The service closed the connection.'));
      owner.closed(this);
    });
  }

  get isConnecting(): boolean {
    return this.#socket.connecting;
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed;
  }

  /** @throws Error before anything is sent, where the request could be read as another one */
  send(request: PlainRequest, handler: ExchangeHandler): void {
    const head = this.#headOf(request);
    this.#handler = handler;
    this.#isSent = false;
    handler.onRequestStart(this);
    if (this.#handler !== handler) {
      this.#owner.rest(this);
      return;
    }
    this.#isSent = true;
    this.#reader.begin(request.method);
    this.#socket.write(head, 'latin1');
  }

  pause(): void {
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(): void {
    if (this.#isPaused) {
      this.#isPaused = false;
      this.#socket.resume();
    }
  }

  /** What was asked for may still come: the connection is of no use any more. */
  abort(error: Error): void {
    if (this.#handler !== undefined) {
      if (this.#isSent) {
        this.#socket.destroy();
      }
      this.#fail(error);
    }
  }

  destroy(error?: Error): void {
    this.#error ??= error;
    this.#socket.destroy();
  }

  onHead({ status, headers }: ReplyHead): void {
    this.#handler?.onResponseStart(this, status, headers);
  }

  onData(chunk: Buffer): void {
    this.#handler?.onResponseData(this, chunk);
  }

  onEnd(): void {
    const handler = this.#handler;
    this.#handler = undefined;
    handler?.onResponseEnd();
  }

  #headOf({ method, path, headers }: PlainRequest): string {
    const checked = this.#checked;
    if (FORBIDDEN_IN_PATH.test(path)) {
      throw new Error('The path to forward has a character that is none of a path.');
    }
    let head = `${method} ${path} HTTP/1.1\r\n${this.#hostHeader}`;
    for (let index = 0; index < headers.length; index += 2) {
      const value = headers[index + 1] ?? '';
      // Most are what they were in the last request.
      if (value !== checked[index + 1] && FORBIDDEN.test(value)) {
        throw new Error('A header to forward has a character that is none of a header.');
      }
      head += `${headers[index]}: ${value}\r\n`;
    }
    this.#checked = headers;
    return METHODS_WITH_BODY.has(method) ? `${head}content-length: 0\r\n\r\n` : `${head}\r\n`;
  }

  #read(buffer: Buffer, length: number): boolean {
    if (this.#socket.destroyed) {
      return true;
    }
    if (this.#handler === undefined) {
      // Nobody asked: it would be taken for the reply to the next request (CWE-444).
      this.destroy(new MalformedReply('The service sent what nobody asked for.'));
      return true;
    }
    try {
      const taken = this.#reader.read(buffer, length);
      if (this.#reader.isOver) {
        this.#release(taken === length);
      }
    } catch (error) {
      this.#socket.destroy();
      this.#fail(error as Error);
    }
    return true;
  }

  #finish(): void {
    if (this.#handler !== undefined) {
      try {
        this.#reader.finish();
      } catch (error) {
        this.#fail(error as Error);
      }
    }
    this.#socket.destroy();
  }

  #release(isClean: boolean): void {
    if (isClean && this.#reader.reusableMilliseconds > 0 && !this.#socket.destroyed) {
      this.expiresAt = performance.now() + this.#reader.reusableMilliseconds;
      this.resume();
      this.#owner.rest(this);
    } else {
      this.#socket.destroy();
    }
  }

  #fail(error: Error): void {
    const handler = this.#handler;
    this.#handler = undefined;
    handler?.onResponseError(this, error);
  }
}
