import type { Socket } from 'node:net';
import { atEndOfTurn } from '@gatehouse/server';
import type { Dispatcher } from 'undici';
import type { ConnectionPool, OpenSocket } from './connection-pool.ts';
import { MalformedReplyError, ReplyReader } from './reply-reader.ts';

/** Controls a reply while it arrives. undici has such controllers, too. */
export type ReplyController = Pick<Dispatcher.DispatchController, 'pause' | 'resume' | 'abort'>;

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

/** Characters that could end a header and start another (CWE-93). */
const FORBIDDEN = /[^\t\x20-\x7e\x80-\xff]/;
const FORBIDDEN_IN_PATH = /[^\x21-\x7e]/;
/** A service may require a length for these methods (RFC 9110 §8.6). */
const METHODS_WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);
/** Safe methods (RFC 9110 §9.2.1) that a service may receive twice. */
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** A connection that runs one exchange at a time, so that the replies to two callers never mix. */
export class Connection implements ReplyController {
  /** Monotonic milliseconds. Set when the connection becomes idle. */
  expiresAt = 0;
  /** Monotonic milliseconds. Infinity while the caller reads. */
  pausedAt = Number.POSITIVE_INFINITY;
  readonly #pool: ConnectionPool;
  readonly #socket: Socket;
  readonly #hostHeader: string;
  /** Monotonic milliseconds. The connection serves no request that begins later. */
  readonly #useUntil: number;
  readonly #reader = new ReplyReader(
    ({ status, headers }) => this.#exchange?.onResponseHead(this, status, headers),
    (chunk) => this.#exchange?.onResponseData(this, chunk),
  );
  #exchange: Exchange | undefined;
  /** Of the exchange. A request is due until it is written at the end of a turn. */
  #progress: 'begun' | 'due' | 'written' | 'answered' = 'begun';
  /** An earlier exchange succeeded here. */
  #isReused = false;
  #error: Error | undefined;
  /** The headers of the last request, which passed the check. */
  #checked: readonly string[] = [];

  constructor(host: string, useUntil: number, open: OpenSocket, pool: ConnectionPool) {
    this.#pool = pool;
    this.#hostHeader = `host: ${host}\r\nconnection: keep-alive\r\n`;
    this.#useUntil = useUntil;
    const socket = open(this.#read);
    this.#socket = socket;
    socket.on('error', (error) => {
      this.#error = error;
    });
    socket.on('end', () => {
      if (this.#reader.isOverAtClose) {
        this.#takeExchange()?.onResponseEnd();
      }
      socket.destroy();
    });
    socket.on('close', () => {
      const unanswered = this.#mayBeSentAgain() ? this.#takeExchange() : undefined;
      this.#fail(this.#error ?? new Error('The service closed the connection.'));
      pool.closed(this, unanswered);
    });
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed;
  }

  /** Sends nothing of a request that is already canceled, or that could be parsed as two. */
  send(exchange: Exchange): void {
    const { request } = exchange;
    this.#exchange = exchange;
    this.#progress = 'begun';
    exchange.onRequestStart(this);
    const head = this.#headOf(request);
    if (head === undefined) {
      this.#fail(new Error('The forwarded request contains a character that is not allowed.'));
    }
    if (this.#exchange !== exchange || head === undefined) {
      this.#pool.rest(this);
      return;
    }
    this.#progress = 'due';
    this.#reader.begin(request.method);
    atEndOfTurn(() => {
      this.#progress = 'written';
      if (request.body === undefined) {
        this.#socket.write(head, 'latin1');
        return;
      }
      this.#socket.cork();
      this.#socket.write(head, 'latin1');
      this.#socket.write(request.body);
      this.#socket.uncork();
    });
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
      if (this.#progress !== 'begun') {
        this.#socket.destroy();
      }
      this.#fail(error);
    }
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #headOf({ method, path, headers, body }: OutgoingRequest): string | undefined {
    if (FORBIDDEN_IN_PATH.test(path)) {
      return undefined;
    }
    let head = `${method} ${path} HTTP/1.1\r\n${this.#hostHeader}`;
    for (let index = 0; index < headers.length; index += 2) {
      const value = headers[index + 1] ?? '';
      // Most values repeat those of the last request.
      if (value !== this.#checked[index + 1] && FORBIDDEN.test(value)) {
        return undefined;
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
  #mayBeSentAgain(): boolean {
    const { method = '', body } = this.#exchange?.request ?? {};
    const isUnanswered = this.#progress === 'due' || this.#progress === 'written';
    return isUnanswered && this.#isReused && SAFE_METHODS.has(method) && body === undefined;
  }

  #takeExchange(): Exchange | undefined {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    return exchange;
  }

  readonly #read = (length: number, bytes: Uint8Array): boolean => {
    if (this.#socket.destroyed) {
      return false;
    }
    if (this.#exchange === undefined || this.#progress === 'due') {
      // Without a request, it would be read as the reply to the next one (CWE-444).
      this.#error = new MalformedReplyError('The service sent data without a request.');
      this.#socket.destroy();
      return false;
    }
    this.#progress = 'answered';
    try {
      const taken = this.#reader.read(bytes.subarray(0, length));
      if (this.#reader.isOver) {
        this.#takeExchange()?.onResponseEnd();
        this.#release(taken === length);
      }
    } catch (error) {
      this.#socket.destroy();
      this.#fail(error as Error);
    }
    return true;
  };

  #release(isClean: boolean): void {
    const now = performance.now();
    this.expiresAt = Math.min(now + this.#reader.reusableMilliseconds, this.#useUntil);
    if (isClean && this.expiresAt > now && !this.#socket.destroyed) {
      this.#isReused = true;
      this.resume();
      this.#pool.rest(this);
    } else {
      this.#socket.destroy();
    }
  }

  #fail(error: Error): void {
    this.#takeExchange()?.onResponseError(this, error);
  }
}
