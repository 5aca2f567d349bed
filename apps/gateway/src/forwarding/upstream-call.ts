import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { UpstreamBody } from './upstream-body.ts';
import { toUpstreamError } from './upstream-errors.ts';

export interface UpstreamReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: UpstreamBody;
}

export interface UpstreamCallEvents {
  /** The head is here. */
  answered(): void;
  /** The service waits for the caller to read, or no longer. */
  held(isHeld: boolean): void;
  /** Once, when the exchange is over, whatever its end. */
  settled(): void;
}

const nothing = () => {};

/**
 * One exchange with an upstream, as undici reports it. `reply` resolves with the head or rejects with an
 * ApiError; what happens later shows in the body.
 */
export class UpstreamCall implements Dispatcher.DispatchHandler {
  readonly reply: Promise<UpstreamReply>;
  readonly #events: UpstreamCallEvents;
  #resolve: (reply: UpstreamReply) => void = nothing;
  #reject: (error: unknown) => void = nothing;
  #controller: Dispatcher.DispatchController | undefined;
  #cancelled: Error | undefined;
  #body: UpstreamBody | undefined;
  #over = false;

  constructor(events: UpstreamCallEvents) {
    this.#events = events;
    this.reply = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Ends the exchange wherever it is; after its end it does nothing. */
  cancel(reason: () => Error): void {
    if (this.#over || this.#cancelled !== undefined) {
      return;
    }
    const error = reason();
    this.#cancelled = error;
    if (this.#controller === undefined) {
      // Still waiting for a connection: the caller is told now, undici when it gets to it.
      this.#reject(toUpstreamError(error));
    } else {
      this.#controller.abort(error);
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#cancelled !== undefined) {
      controller.abort(this.#cancelled);
    }
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status >= 200) {
      this.#events.answered();
      this.#body = new UpstreamBody(controller, headers['content-length'], this.#events.held);
      this.#resolve({ status, headers, body: this.#body });
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#body?.push(chunk);
  }

  onResponseEnd(): void {
    this.#finish();
    this.#body?.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const failure = toUpstreamError(error);
    this.#reject(failure);
    this.#finish();
    this.#body?.fail(failure);
  }

  #finish(): void {
    if (!this.#over) {
      this.#over = true;
      // What undici knows of the exchange is large, and this object may live on until the reply is written.
      this.#controller = undefined;
      this.#resolve = nothing;
      this.#reject = nothing;
      this.#events.settled();
    }
  }
}
