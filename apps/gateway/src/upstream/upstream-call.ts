import { ApiError } from '@gatehouse/errors';
import type { RequestDependent } from '@gatehouse/server';
import { received } from '../http/header-names.ts';
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
  /** The head of the reply arrived. */
  answered(call: UpstreamCall): void;
  /** A part of the body arrived. */
  received(call: UpstreamCall): void;
  /** The caller stopped reading, or reads again. */
  held(call: UpstreamCall, isHeld: boolean): void;
  /** Called once, when the exchange ends for any reason. */
  settled(call: UpstreamCall): void;
}

const nothing = () => {};
const callerLeft = () => new Error('The caller left.');

/**
 * One exchange with an upstream service. `reply` resolves with the head or rejects with an
 * ApiError. Later failures appear in the body.
 */
export class UpstreamCall
  implements ExchangeHandler, Expiring, HoldObserver, RequestDependent, WatchedCall
{
  /** See Deadlines. */
  slot = -1;
  expiresAt = 0;
  activityBefore = 0;
  readonly reply: Promise<UpstreamReply>;
  readonly #events: UpstreamCallEvents;
  #resolve: (reply: UpstreamReply) => void = nothing;
  #reject: (error: unknown) => void = nothing;
  #controller: ReplyController | undefined;
  #canceled: Error | undefined;
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

  /** The head of the reply arrived. */
  get isAnswered(): boolean {
    return this.#body !== undefined;
  }

  /** The request was sent completely and reached its deadline without a reply. */
  get isUnanswered(): boolean {
    return this.#isUnanswered;
  }

  get isUploading(): boolean {
    return this.#controller?.isUploading === true;
  }

  /** Ends the exchange in any state. Does nothing after its end. */
  cancel(reason: () => Error): void {
    if (this.#over || this.#canceled !== undefined) {
      return;
    }
    const error = reason();
    this.#canceled = error;
    if (this.#controller === undefined) {
      // The call still waits for a connection: the caller gets the error now, the pool on its turn.
      this.#reject(toUpstreamError(error));
    } else {
      this.#controller.abort(error);
    }
  }

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
    if (this.#canceled !== undefined) {
      controller.abort(this.#canceled);
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
      // Releases the connection's memory: this object may live until the reply is written.
      this.#controller = undefined;
      this.#resolve = nothing;
      this.#reject = nothing;
      this.#events.settled(this);
    }
  }
}

function lengthIn(headers: readonly string[]): string | undefined {
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index] === received.contentLength) {
      return headers[index + 1];
    }
  }
  return undefined;
}
