import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { BodySender } from './body-sender.ts';
import type { OpenSocket } from './open-socket.ts';
import { type OutgoingRequest, RequestHeadWriter } from './outgoing-request.ts';
import { MalformedReplyError, type ReplyHead } from './reply-head.ts';
import { type ReplyListener, ReplyReader } from './reply-reader.ts';

/** Controls a reply while it arrives. */
export interface ReplyController {
  /** The body is not sent completely. */
  readonly isUploading: boolean;
  pause(): void;
  resume(): void;
  abort(error: Error): void;
}

/** Receives the events of one exchange: start, then head, data and end, or an error at any time. */
export interface ExchangeHandler {
  /** Called for each attempt to send the request. */
  onRequestStart(controller: ReplyController): void;
  onResponseStart(controller: ReplyController, status: number, headers: readonly string[]): void;
  onResponseData(controller: ReplyController, chunk: Buffer): void;
  onResponseEnd(): void;
  onResponseError(controller: ReplyController, error: Error): void;
}

/** A request with the handler of its reply. */
export interface PendingRequest {
  readonly request: OutgoingRequest;
  readonly handler: ExchangeHandler;
}

/** The owner of the connections. */
export interface ConnectionOwner {
  /** The exchange ended. The connection is free after pending data has been read. */
  rest(connection: Connection): void;
  /** @param unanswered may be sent again, on a new connection */
  closed(connection: Connection, unanswered: PendingRequest | undefined): void;
}

/** Safe methods (RFC 9110 §9.2.1) that a service may receive twice. */
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** A connection that runs one exchange at a time, so that the replies to two callers never mix. */
export class Connection implements ReplyListener, ReplyController {
  readonly #owner: ConnectionOwner;
  readonly #socket: Socket;
  readonly #heads: RequestHeadWriter;
  readonly #reader = new ReplyReader(this);
  #request: OutgoingRequest | undefined;
  #handler: ExchangeHandler | undefined;
  #sender: BodySender | undefined;
  #isConnecting = true;
  #isSent = false;
  /** An earlier exchange succeeded here. */
  #isReused = false;
  /** A byte arrived since the request was sent. */
  #isAnswered = false;
  #isPaused = false;
  #error: Error | undefined;
  /** Monotonic milliseconds. The deadline to connect, or to be reused. */
  expiresAt: number;
  /** Monotonic milliseconds. The connection serves no request that begins later. */
  useUntil = Number.POSITIVE_INFINITY;

  constructor(host: string, open: OpenSocket, connectUntil: number, owner: ConnectionOwner) {
    this.#owner = owner;
    this.#heads = new RequestHeadWriter(host);
    this.expiresAt = connectUntil;
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
      const unanswered = this.#takeUnanswered();
      this.#fail(this.#error ?? new Error('The service closed the connection.'));
      owner.closed(this, unanswered);
    });
  }

  get isConnecting(): boolean {
    return this.#isConnecting;
  }

  get isUploading(): boolean {
    return this.#sender?.isOver === false;
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed;
  }

  /** @throws Error before anything is sent, if the request could be parsed as two */
  send(request: OutgoingRequest, handler: ExchangeHandler): void {
    const { body } = request;
    const stream = body === undefined || body instanceof Uint8Array ? undefined : body.stream;
    if (stream?.destroyed === true) {
      throw stream.errored ?? new Error('The body ended before it was sent.');
    }
    const head = this.#heads.headOf(request);
    this.#handler = handler;
    this.#isSent = false;
    handler.onRequestStart(this);
    if (this.#handler !== handler) {
      stream?.destroy();
      this.#owner.rest(this);
      return;
    }
    this.#request = request;
    this.#isSent = true;
    this.#isAnswered = false;
    this.#reader.begin(request.method);
    if (body === undefined) {
      this.#socket.write(head, 'latin1');
    } else if (body instanceof Uint8Array) {
      this.#socket.cork();
      this.#socket.write(head, 'latin1');
      this.#socket.write(body);
      this.#socket.uncork();
    } else {
      this.#socket.write(head, 'latin1');
      this.#sender = new BodySender(this.#socket, body, (error) => this.abort(error));
    }
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

  /** A reply may still arrive, so the connection cannot be reused. */
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
    this.#handler = this.#request = undefined;
    handler?.onResponseEnd();
  }

  /**
   * A service may close an idle connection while a request is in transit (RFC 9112 §9.3.1). Only a
   * safe request without a byte of a reply on a reused connection is sent again (RFC 9110 §9.2.2).
   */
  get #mayBeSentAgain(): boolean {
    const { method, body } = this.#request ?? { method: '', body: undefined };
    const isUnanswered = this.#isReused && !this.#isAnswered;
    return isUnanswered && SAFE_METHODS.has(method) && body === undefined;
  }

  #takeUnanswered(): PendingRequest | undefined {
    const request = this.#request;
    const handler = this.#handler;
    if (request === undefined || handler === undefined || !this.#mayBeSentAgain) {
      return undefined;
    }
    this.#handler = undefined;
    return { request, handler };
  }

  #read(bytes: Buffer, length: number): void {
    if (this.#socket.destroyed) {
      return;
    }
    if (this.#handler === undefined) {
      // Without a request, it would be read as the reply to the next one (CWE-444).
      this.destroy(new MalformedReplyError('The service sent data without a request.'));
      return;
    }
    this.#isAnswered = true;
    try {
      const taken = this.#reader.read(bytes, length);
      if (this.#reader.isOver) {
        this.#release(taken === length);
      }
    } catch (error) {
      this.#socket.destroy();
      this.#fail(error as Error);
    }
  }

  #finish(): void {
    if (this.#handler !== undefined && !this.#mayBeSentAgain) {
      try {
        this.#reader.finish();
      } catch (error) {
        this.#fail(error as Error);
      }
    }
    this.#socket.destroy();
  }

  #release(isClean: boolean): void {
    const isSent = this.#sender === undefined || this.#sender.isOver;
    this.#endSending();
    const now = performance.now();
    this.expiresAt = Math.min(now + this.#reader.reusableMilliseconds, this.useUntil);
    if (isClean && isSent && this.expiresAt > now && !this.#socket.destroyed) {
      this.#isReused = true;
      this.resume();
      this.#owner.rest(this);
    } else {
      this.#socket.destroy();
    }
  }

  #fail(error: Error): void {
    const handler = this.#handler;
    this.#handler = this.#request = undefined;
    this.#endSending();
    handler?.onResponseError(this, error);
  }

  #endSending(): void {
    this.#sender?.stop();
    this.#sender = undefined;
  }
}
