import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { ApiError } from '@gatehouse/errors';
import type { RequestDependent } from '@gatehouse/server';
import type { Dispatcher } from 'undici';
import { type BodySink, headerIn, type StreamedBody } from '../messages.ts';
import type { CircuitBreaker, WatchedCall } from './circuit-breaker.ts';
import type { Exchange, OutgoingRequest, ReplyController } from './connection.ts';

export interface UpstreamReply {
  readonly status: number;
  /** Name in lower case, value, … */
  readonly headers: readonly string[];
  readonly body: UpstreamCall;
  /** Only of a WebSocket that the service accepted. */
  readonly upgraded: UpgradedConnection | undefined;
}

export interface UpgradedConnection {
  readonly headers: IncomingHttpHeaders;
  readonly socket: Duplex;
}

/** A body that still arrives from the caller. */
export interface BodyStream {
  readonly stream: Readable;
  /** The announced length. Undefined: the body is sent in chunks. */
  readonly length: number | undefined;
}

export interface CallRequest extends OutgoingRequest {
  /** Instead of `body`: it still arrives from the caller. */
  readonly upload: BodyStream | undefined;
  readonly isStreaming: boolean;
}

/** A stream that sends nothing for so long has ended. Services keep streams alive with comments. */
const STREAM_IDLE_MILLISECONDS = 5 * 60_000;
const BUFFER_LIMIT_BYTES = 64 * 1024;
const nothing = () => {};

/**
 * One exchange with an upstream, and the body of its reply. `reply` resolves with the head or
 * rejects with an ApiError. Later failures appear in the body, which buffers data until a sink is
 * connected: a small reply is usually complete by then, and leaves in one write.
 */
export class UpstreamCall
  implements Exchange, Dispatcher.DispatchHandler, RequestDependent, StreamedBody, WatchedCall
{
  /** Index among the running calls, or -1. */
  slot = -1;
  /** Monotonic milliseconds. */
  expiresAt = 0;
  activityBefore = 0;
  announcedLength: string | undefined;
  readonly request: CallRequest;
  readonly reply: Promise<UpstreamReply>;
  readonly #breaker: CircuitBreaker;
  readonly #onSettled: (call: UpstreamCall) => void;
  #resolve: (reply: UpstreamReply) => void = nothing;
  #reject: (error: unknown) => void = nothing;
  #controller: ReplyController | undefined;
  #canceled: Error | undefined;
  #isAnswered = false;
  #isOver = false;
  #chunks: Buffer[] = [];
  #size = 0;
  #failure: { readonly error: unknown } | undefined;
  #sink: BodySink | undefined;

  /** @param onSettled called once, when the exchange ends for any reason */
  constructor(
    request: CallRequest,
    breaker: CircuitBreaker,
    onSettled: (call: UpstreamCall) => void,
  ) {
    this.request = request;
    this.#breaker = breaker;
    this.#onSettled = onSettled;
    this.reply = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** The head of the reply arrived. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  get isUploading(): boolean {
    const stream = this.request.upload?.stream;
    return stream !== undefined && !stream.readableEnded && !stream.destroyed;
  }

  /** Ends the exchange in any state. Does nothing after its end. */
  cancel(error: Error): void {
    if (this.#isOver || this.#canceled !== undefined) {
      return;
    }
    this.#canceled = error;
    if (this.#controller === undefined) {
      // The call still waits for a connection: the caller gets the error now, the pool on its turn.
      this.#reject(toUpstreamError(error));
    } else {
      this.#controller.abort(error);
    }
  }

  onRequestClosed(): void {
    if (!this.#isOver) {
      this.cancel(new Error('The caller left.'));
    }
  }

  /** The deadline has passed. */
  expire(): void {
    const isSent = this.#controller !== undefined && !this.isUploading;
    const isUnanswered = isSent && !this.#isAnswered;
    this.cancel(new ApiError('timeout'));
    if (isUnanswered) {
      this.#breaker.timedOut(this);
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
    this.#isAnswered = true;
    this.announcedLength = headerIn(headers, 'content-length');
    this.#resolve({ status, headers, body: this, upgraded: undefined });
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
    this.#isAnswered = true;
    this.expiresAt = Number.POSITIVE_INFINITY;
    socket.once('close', () => this.#finish());
    this.#resolve({ status, headers: [], body: this, upgraded: { headers, socket } });
  }

  onResponseData(_controller: ReplyController, chunk: Buffer): void {
    this.#noteActivity();
    if (this.#sink === undefined) {
      this.#chunks.push(chunk);
      this.#size += chunk.length;
      if (this.#size > BUFFER_LIMIT_BYTES) {
        this.#pause();
      }
    } else if (!this.#sink.write(chunk)) {
      this.#pause();
    }
  }

  onResponseEnd(): void {
    this.#finish();
    this.#sink?.end();
  }

  onResponseError(_controller: ReplyController, error: Error): void {
    const failure = toUpstreamError(error);
    this.#reject(failure);
    this.#failure = { error: failure };
    this.#finish();
    this.#sink?.fail(failure);
  }

  arrived(): Buffer | undefined {
    if (!this.#isOver || this.#failure !== undefined || this.#sink !== undefined) {
      return undefined;
    }
    const [only, ...more] = this.#chunks;
    return only !== undefined && more.length === 0 ? only : Buffer.concat(this.#chunks, this.#size);
  }

  /** @throws the error that ended the body early, if it happened before a sink was connected */
  assertIntact(): void {
    if (this.#failure !== undefined) {
      throw this.#failure.error;
    }
  }

  connect(sink: BodySink): void {
    this.#sink = sink;
    const held = this.#chunks;
    this.#chunks = [];
    let wantsMore = true;
    for (const chunk of held) {
      wantsMore = sink.write(chunk);
    }
    if (this.#failure !== undefined) {
      sink.fail(this.#failure.error);
    } else if (this.#isOver) {
      sink.end();
    } else if (wantsMore) {
      this.resume();
    } else {
      this.#pause();
    }
  }

  resume(): void {
    if (this.#controller !== undefined) {
      this.#controller.resume();
      this.#extend(STREAM_IDLE_MILLISECONDS);
    }
  }

  #pause(): void {
    if (this.#controller !== undefined) {
      this.#controller.pause();
      // While the caller does not read, the service is not silent. The server cuts slow readers.
      this.#extend(Number.POSITIVE_INFINITY);
    }
  }

  #noteActivity(): void {
    this.#breaker.noteActivity();
    this.#extend(STREAM_IDLE_MILLISECONDS);
  }

  /** The deadline of a stream starts again with each part. Other replies have one deadline. */
  #extend(milliseconds: number): void {
    if (this.request.isStreaming) {
      this.expiresAt = performance.now() + milliseconds;
    }
  }

  #finish(): void {
    if (!this.#isOver) {
      this.#isOver = true;
      // Releases the connection's memory: this object may live until the reply is written.
      this.#controller = undefined;
      this.#resolve = nothing;
      this.#reject = nothing;
      this.#onSettled(this);
    }
  }
}

/** System errors before the service received anything. */
const unreachable: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** The cause goes to the log. The caller learns neither the address nor the reason. */
function toUpstreamError(error: Error & { code?: string; syscall?: string }): ApiError {
  if (error instanceof ApiError) {
    return error;
  }
  const { code = '', syscall } = error;
  if (code === 'ETIMEDOUT') {
    return new ApiError('timeout', { cause: error });
  }
  const isUnreachable = unreachable.has(code) || syscall === 'connect';
  const reason = isUnreachable ? 'upstream_unreachable' : 'bad_gateway';
  return new ApiError('bad_gateway', { cause: error, reason });
}
