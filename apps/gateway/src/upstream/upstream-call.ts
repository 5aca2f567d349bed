import { ApiError } from '@gatehouse/api-envelope';
import type { RequestDependent } from '@gatehouse/http-server';
import type { WatchedCall } from './circuit-breaker.ts';
import type { Expiring } from './deadlines.ts';
import type { ExchangeHandler, ReplyController } from './http1/connection.ts';
import { type HoldObserver, UpstreamBody } from './upstream-body.ts';
import { toUpstreamError } from './upstream-errors.ts';

export interface UpstreamReply {
  readonly status: number;
  /** Name in lower case, value, … */
  readonly headers: readonly string[];
  readonly body: UpstreamBody;
}

export interface UpstreamCallEvents {
  /** The head is here. */
  answered(call: UpstreamCall): void;
  /** A part of the body is here. */
  received(call: UpstreamCall): void;
  /** The service waits for the caller to read, or no longer. */
  held(call: UpstreamCall, isHeld: boolean): void;
  /** Once, when the exchange is over, whatever its end. */
  settled(call: UpstreamCall): void;
}

const nothing = () => {};
const callerLeft = () => new Error('The caller left.');

/**
 * One exchange with an upstream, as its connection reports it. `reply` resolves with the head or rejects with an
 * ApiError; what happens later shows in the body.
 */
export class UpstreamCall
  implements ExchangeHandler, Expiring, HoldObserver, RequestDependent, WatchedCall
{
  /** See Deadlines. */
  slot = -1;
  expiresAt = 0;
  heardBefore = 0;
  readonly reply: Promise<UpstreamReply>;
  readonly #events: UpstreamCallEvents;
  #resolve: (reply: UpstreamReply) => void = nothing;
  #reject: (error: unknown) => void = nothing;
  #controller: ReplyController | undefined;
  #cancelled: Error | undefined;
  #body: UpstreamBody | undefined;
  #over = false;
  #isUnanswered = false;

  constructor(events: UpstreamCallEvents) {
    this.#events = events;
    this.reply = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** The head of the reply is here. */
  get isAnswered(): boolean {
    return this.#body !== undefined;
  }

  /** It was sent completely and met its deadline without a reply. */
  get isUnanswered(): boolean {
    return this.#isUnanswered;
  }

  get isUploading(): boolean {
    return this.#controller?.isUploading === true;
  }

  /** Ends the exchange wherever it is; after its end it does nothing. */
  cancel(reason: () => Error): void {
    if (this.#over || this.#cancelled !== undefined) {
      return;
    }
    const error = reason();
    this.#cancelled = error;
    if (this.#controller === undefined) {
      // Still waiting for a connection: the caller is told now, the pool when it gets to it.
      this.#reject(toUpstreamError(error));
    } else {
      this.#controller.abort(error);
    }
  }

  /** Does nothing where the exchange is over. */
  onRequestClosed(): void {
    this.cancel(callerLeft);
  }

  onHold(isHeld: boolean): void {
    this.#events.held(this, isHeld);
  }

  expire(): void {
    const isSent = this.#controller !== undefined && !this.isUploading;
    this.#isUnanswered = isSent && !this.isAnswered;
    this.cancel(() => new ApiError('timeout'));
  }

  onRequestStart(controller: ReplyController): void {
    this.#controller = controller;
    if (this.#cancelled !== undefined) {
      controller.abort(this.#cancelled);
    }
  }

  onResponseStart(controller: ReplyController, status: number, headers: readonly string[]): void {
    this.#events.answered(this);
    this.#body = new UpstreamBody(controller, lengthIn(headers), this);
    this.#resolve({ status, headers, body: this.#body });
  }

  onResponseData(_controller: ReplyController, chunk: Buffer): void {
    this.#events.received(this);
    this.#body?.push(chunk);
  }

  onResponseEnd(): void {
    this.#finish();
    this.#body?.end();
  }

  onResponseError(_controller: ReplyController, error: Error): void {
    const failure = toUpstreamError(error);
    this.#reject(failure);
    this.#finish();
    this.#body?.fail(failure);
  }

  #finish(): void {
    if (!this.#over) {
      this.#over = true;
      // What a connection holds is large, and this object may live on until the reply is written.
      this.#controller = undefined;
      this.#resolve = nothing;
      this.#reject = nothing;
      this.#events.settled(this);
    }
  }
}

function lengthIn(headers: readonly string[]): string | undefined {
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index] === 'content-length') {
      return headers[index + 1];
    }
  }
  return undefined;
}
