import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { atEndOfTurn } from '@gatehouse/server';
import type { OpenSocket } from './open-socket.ts';
import { MalformedReplyError, type ReplyHead } from './reply-head.ts';
import { ReplyReader } from './reply-reader.ts';

/** Controls a reply while it arrives. */
export interface ReplyController {
  pause(): void;
  resume(): void;
  abort(error: Error): void;
}

/** One request to a service. */
export interface OutgoingRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Name, value, …, without headers that describe the length of the body. */
  readonly headers: readonly string[];
  readonly body: Uint8Array | undefined;
}

/** A request, and the receiver of its reply: start, head, data and end, or an error at any time. */
export interface Exchange {
  readonly request: OutgoingRequest;
  /** Called for each attempt to send the request. */
  onRequestStart(controller: ReplyController): void;
  onResponseHead(controller: ReplyController, status: number, headers: readonly string[]): void;
  onResponseData(controller: ReplyController, chunk: Buffer): void;
  onResponseEnd(): void;
  onResponseError(controller: ReplyController, error: Error): void;
}

/** The owner of the connections. */
export interface ConnectionOwner {
  /** The exchange ended. The connection is free after pending data has been read. */
  rest(connection: Connection): void;
  /** @param unanswered may be sent again, on a new connection */
  closed(connection: Connection, unanswered: Exchange | undefined): void;
}

/** Characters that could end a header and start another (CWE-93). */
const FORBIDDEN = /[^\t\x20-\x7e\x80-\xff]/;
const FORBIDDEN_IN_PATH = /[^\x21-\x7e]/;
/** A service may require a length for these methods (RFC 9110 §8.6). */
const METHODS_WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);
/** Safe methods (RFC 9110 §9.2.1) that a service may receive twice. */
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** A connection that runs one exchange at a time, so that the replies to two callers never mix. */
export class Connection implements ReplyController {
  readonly #owner: ConnectionOwner;
  readonly #socket: Socket;
  readonly #hostHeader: string;
  readonly #reader = new ReplyReader(this);
  #exchange: Exchange | undefined;
  #isConnecting = true;
  /** The request is sent, or will be at the end of this turn. */
  #isSent = false;
  #isWritten = false;
  /** An earlier exchange succeeded here. */
  #isReused = false;
  /** A byte arrived since the request was sent. */
  #isAnswered = false;
  #error: Error | undefined;
  /** The headers of the last request, which passed the check. */
  #checked: readonly string[] = [];
  /** Monotonic milliseconds. The deadline to connect, or to be reused. */
  expiresAt: number;
  /** Monotonic milliseconds. The connection serves no request that begins later. */
  readonly #useUntil: number;
  /** Monotonic milliseconds. Infinity while the caller reads. */
  pausedAt = Number.POSITIVE_INFINITY;

  constructor(
    host: string,
    open: OpenSocket,
    [connectUntil, useUntil]: readonly [number, number],
    owner: ConnectionOwner,
  ) {
    this.#owner = owner;
    this.#hostHeader = `host: ${host}\r\nconnection: keep-alive\r\n`;
    this.expiresAt = connectUntil;
    this.#useUntil = useUntil;
    const socket = open((bytes, length) => this.#read(bytes, length));
    this.#socket = socket;
    socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', () => {
      this.#isConnecting = false;
    });
    socket.on('error', (error) => {
      this.#error = error;
    });
    socket.on('end', () => this.#finish());
    socket.on('close', () => {
      const unanswered = this.#mayBeSentAgain ? this.#takeExchange() : undefined;
      this.#fail(this.#error ?? new Error('The service closed the connection.'));
      owner.closed(this, unanswered);
    });
  }

  get isConnecting(): boolean {
    return this.#isConnecting;
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed;
  }

  /** @throws Error before anything is sent, if the request could be parsed as two */
  send(exchange: Exchange): void {
    const { request } = exchange;
    const head = this.#headOf(request);
    this.#exchange = exchange;
    this.#isSent = false;
    exchange.onRequestStart(this);
    if (this.#exchange !== exchange) {
      this.#owner.rest(this);
      return;
    }
    this.#isSent = true;
    this.#isWritten = false;
    this.#isAnswered = false;
    this.#reader.begin(request.method);
    atEndOfTurn(() => this.#write(head, request.body));
  }

  pause(): void {
    this.pausedAt = performance.now();
    this.#socket.pause();
  }

  resume(): void {
    if (this.pausedAt !== Number.POSITIVE_INFINITY) {
      this.pausedAt = Number.POSITIVE_INFINITY;
      this.#socket.resume();
    }
  }

  /** A reply may still arrive, so the connection cannot be reused. */
  abort(error: Error): void {
    if (this.#exchange !== undefined) {
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
    this.#exchange?.onResponseHead(this, status, headers);
  }

  onData(chunk: Buffer): void {
    this.#exchange?.onResponseData(this, chunk);
  }

  onEnd(): void {
    this.#takeExchange()?.onResponseEnd();
  }

  #write(head: string, body: Uint8Array | undefined): void {
    this.#isWritten = true;
    if (body === undefined) {
      this.#socket.write(head, 'latin1');
    } else {
      this.#socket.cork();
      this.#socket.write(head, 'latin1');
      this.#socket.write(body);
      this.#socket.uncork();
    }
  }

  #headOf({ method, path, headers, body }: OutgoingRequest): string {
    if (FORBIDDEN_IN_PATH.test(path)) {
      throw new Error('The forwarded path contains a character that is not allowed.');
    }
    let head = `${method} ${path} HTTP/1.1\r\n${this.#hostHeader}`;
    for (let index = 0; index < headers.length; index += 2) {
      const value = headers[index + 1] ?? '';
      // Most values repeat those of the last request.
      if (value !== this.#checked[index + 1] && FORBIDDEN.test(value)) {
        throw new Error('A forwarded header contains a character that is not allowed.');
      }
      head += `${headers[index]}: ${value}\r\n`;
    }
    this.#checked = headers;
    return body === undefined && !METHODS_WITH_BODY.has(method)
      ? `${head}\r\n`
      : `${head}content-length: ${body?.length ?? 0}\r\n\r\n`;
  }

  /**
   * A service may close an idle connection while a request is in transit (RFC 9112 §9.3.1). Only a
   * safe request without a byte of a reply on a reused connection is sent again (RFC 9110 §9.2.2).
   */
  get #mayBeSentAgain(): boolean {
    const { method = '', body } = this.#exchange?.request ?? {};
    const isUnanswered = this.#isSent && this.#isReused && !this.#isAnswered;
    return isUnanswered && SAFE_METHODS.has(method) && body === undefined;
  }

  #takeExchange(): Exchange | undefined {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    return exchange;
  }

  #read(bytes: Buffer, length: number): void {
    if (this.#socket.destroyed) {
      return;
    }
    if (this.#exchange === undefined || !this.#isWritten) {
      // Without a request, it would be read as the reply to the next one (CWE-444).
      this.destroy(new MalformedReplyError('The service sent data without a request.'));
      return;
    }
    this.#isAnswered = true;
    try {
      const taken = this.#reader.read(bytes.subarray(0, length));
      if (this.#reader.isOver) {
        this.#release(taken === length);
      }
    } catch (error) {
      this.#socket.destroy();
      this.#fail(error as Error);
    }
  }

  #finish(): void {
    if (this.#exchange !== undefined && !this.#mayBeSentAgain) {
      try {
        this.#reader.finish();
      } catch (error) {
        this.#fail(error as Error);
      }
    }
    this.#socket.destroy();
  }

  #release(isClean: boolean): void {
    const now = performance.now();
    this.expiresAt = Math.min(now + this.#reader.reusableMilliseconds, this.#useUntil);
    if (isClean && this.expiresAt > now && !this.#socket.destroyed) {
      this.#isReused = true;
      this.resume();
      this.#owner.rest(this);
    } else {
      this.#socket.destroy();
    }
  }

  #fail(error: Error): void {
    this.#takeExchange()?.onResponseError(this, error);
  }
}
