import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import { ApiError } from '@gatehouse/errors';
import type { RequestDependent } from '@gatehouse/server';
import type { Dispatcher } from 'undici';
import { type BodySink, headerIn, type StreamedBody } from '../messages.ts';
import type { Exchange, OutgoingRequest, ReplyController } from './connection.ts';
import type { UpstreamRequest } from './upstream.ts';

export interface UpstreamReply {
  readonly status: number;
  /** Name in lower case, value, … */
  readonly headers: readonly string[];
  readonly body: UpstreamCall;
  /** Only of a WebSocket that the service accepted. */
  readonly upgraded?: UpgradedConnection;
}

export interface UpgradedConnection {
  readonly headers: IncomingHttpHeaders;
  readonly socket: Duplex;
}

/** A stream that sends nothing for so long has ended. Services keep streams alive with comments. */
const STREAM_IDLE_MILLISECONDS = 5 * 60_000;
const BUFFER_LIMIT_BYTES = 64 * 1024;

/**
 * Not a set: V8 chains the old tables of a set from which much is deleted, and the garbage collector
 * must then traverse them.
 */
export type RunningCalls = UpstreamCall[];

/**
 * One exchange with an upstream, and the body of its reply. `reply` resolves with the head or
 * rejects with an ApiError. Later failures appear in the body, which buffers data until a sink is
 * connected: a small reply is usually complete by then, and leaves in one write.
 */
export class UpstreamCall
  implements Exchange, Dispatcher.DispatchHandler, RequestDependent, StreamedBody
{
  readonly request: OutgoingRequest;
  /** The head of the reply arrived. */
  isAnswered = false;
  /** Why the reply ended early. */
  failure: ApiError | undefined;
  /** Monotonic milliseconds. */
  expiresAt: number;
  readonly #isStreaming: boolean;
  readonly #onActivity: () => void;
  readonly #running: RunningCalls;
  #slot = 0;
  #headers: readonly string[] = [];
  readonly #head = Promise.withResolvers<UpstreamReply>();
  readonly reply = this.#head.promise;
  #controller: ReplyController | undefined;
  #canceled: Error | undefined;
  #isOver = false;
  #chunks: Buffer[] = [];
  #size = 0;
  #sink: BodySink | undefined;

  /** @param running contains the call until the exchange ends */
  constructor(
    request: OutgoingRequest,
    { timeoutMilliseconds, streaming }: Pick<UpstreamRequest, 'timeoutMilliseconds' | 'streaming'>,
    running: RunningCalls,
    onActivity: () => void,
  ) {
    this.request = request;
    this.expiresAt = performance.now() + timeoutMilliseconds;
    this.#isStreaming = streaming;
    this.#onActivity = onActivity;
    this.#running = running;
    this.#slot = running.push(this) - 1;
  }

  /** Ends the exchange in any state. Does nothing after its end. */
  cancel(error: Error): void {
    if (this.#isOver || this.#canceled !== undefined) {
      return;
    }
    this.#canceled = error;
    if (this.#controller === undefined) {
      // The call still waits for a connection: the caller gets the error now, the pool on its turn.
      this.#head.reject(toUpstreamError(error));
    } else {
      this.#controller.abort(error);
    }
  }

  onRequestClosed(): void {
    if (!this.#isOver) {
      this.cancel(new Error('The caller left.'));
    }
  }

  onRequestStart(controller: ReplyController): void {
    this.#controller = controller;
    if (this.#canceled !== undefined) {
      controller.abort(this.#canceled);
    }
  }

  onResponseHead(_controller: ReplyController, status: number, headers: readonly string[]): void {
    this.#noteActivity();
    this.isAnswered = true;
    this.#headers = headers;
    this.#head.resolve({ status, headers, body: this });
  }

  /** Called by undici. */
  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    const headers = (controller.rawHeaders as readonly Buffer[]).map((bytes, index) => {
      const text = bytes.toString('latin1');
      return index % 2 === 0 ? text.toLowerCase() : text;
    });
    const encoding = headerIn(headers, 'transfer-encoding') ?? 'chunked';
    if (status > 599 || encoding.toLowerCase() !== 'chunked') {
      controller.abort(new Error('The service sent a reply that the gateway cannot forward.'));
    } else if (status >= 200) {
      this.onResponseHead(controller, status, headers);
    }
  }

  /** Called by undici for a WebSocket. */
  onRequestUpgrade(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    this.#noteActivity();
    this.isAnswered = true;
    this.expiresAt = Number.POSITIVE_INFINITY;
    socket.once('close', () => this.#finish());
    this.#head.resolve({ status, headers: [], body: this, upgraded: { headers, socket } });
  }

  onResponseData(_controller: ReplyController, chunk: Buffer): void {
    this.#noteActivity();
    if (this.#sink === undefined) {
      this.#chunks.push(chunk);
      this.#size += chunk.length;
    }
    const hasRoom = this.#sink?.write(chunk) ?? this.#size <= BUFFER_LIMIT_BYTES;
    if (!hasRoom) {
      this.#controller?.pause();
    }
  }

  onResponseEnd(): void {
    this.#finish();
    this.#sink?.end();
  }

  onResponseError(_controller: ReplyController, error: Error): void {
    this.failure = toUpstreamError(error);
    this.#head.reject(this.failure);
    this.#finish();
    this.#sink?.fail(this.failure);
  }

  get announcedLength(): string | undefined {
    return headerIn(this.#headers, 'content-length');
  }

  arrived(): Buffer | undefined {
    if (!this.#isOver || this.failure !== undefined || this.#sink !== undefined) {
      return undefined;
    }
    const [only, ...more] = this.#chunks;
    return only !== undefined && more.length === 0 ? only : Buffer.concat(this.#chunks, this.#size);
  }

  connect(sink: BodySink): void {
    this.#sink = sink;
    const accepted = this.#chunks.splice(0).map((chunk) => sink.write(chunk));
    if (this.failure !== undefined) {
      sink.fail(this.failure);
    } else if (this.#isOver) {
      sink.end();
    } else if (accepted.at(-1) !== false) {
      this.resume();
    } else {
      this.#controller?.pause();
    }
  }

  resume(): void {
    this.#controller?.resume();
  }

  /** The deadline of a stream starts again with each part. Other replies have one deadline. */
  #noteActivity(): void {
    this.#onActivity();
    if (this.#isStreaming) {
      this.expiresAt = performance.now() + STREAM_IDLE_MILLISECONDS;
    }
  }

  #finish(): void {
    if (!this.#isOver) {
      this.#isOver = true;
      // Releases the connection's memory: this object may live until the reply is written.
      this.#controller = undefined;
      const last = this.#running.pop();
      if (last !== undefined && last !== this) {
        this.#running[this.#slot] = last;
        last.#slot = this.#slot;
      }
    }
  }
}

/** The cause goes to the log. The caller learns neither the address nor the reason. */
function toUpstreamError(error: Error & { code?: string; syscall?: string }): ApiError {
  if (error instanceof ApiError) {
    return error;
  }
  if (error.code === 'ETIMEDOUT') {
    return new ApiError('timeout', { cause: error });
  }
  // The service received nothing. An AggregateError has one error for each address of the host.
  const isUnreachable =
    error.syscall === 'connect' ||
    error.syscall === 'getaddrinfo' ||
    error instanceof AggregateError;
  const reason = isUnreachable ? 'upstream_unreachable' : 'bad_gateway';
  return new ApiError('bad_gateway', { cause: error, reason });
}
