import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import { ApiError, type ErrorCode } from '@gatehouse/api-envelope';
import type { Dispatcher } from 'undici';
import type { WatchedCall } from './circuit-breaker.ts';
import { toUpstreamError } from './upstream-errors.ts';

export interface UpgradedConnection {
  readonly headers: IncomingHttpHeaders;
  readonly socket: Duplex;
}

/** What a service answers instead of 101 → what the caller is told. Everything else is `bad_gateway`. */
const refusals: Readonly<Record<number, ErrorCode>> = {
  400: 'illegal_argument',
  403: 'access_denied',
  404: 'not_found',
  426: 'illegal_argument',
  429: 'too_many_requests',
  503: 'service_unavailable',
};

export interface UpgradeCallEvents {
  /** The service answered, whatever its answer. */
  answered(): void;
  /** The handshake was sent and met its deadline without an answer. */
  unanswered(call: UpgradeCall): void;
  /** Once, when it failed or is closed. */
  settled(): void;
}

/** The opening of one WebSocket, as undici reports it. */
export class UpgradeCall implements Dispatcher.DispatchHandler, WatchedCall {
  /** A handshake has no body. */
  readonly isUploading = false;
  heardBefore = 0;
  readonly upgraded: Promise<UpgradedConnection>;
  readonly #events: UpgradeCallEvents;
  #resolve: (connection: UpgradedConnection) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  #controller: Dispatcher.DispatchController | undefined;
  #expired = false;
  #over = false;

  constructor(events: UpgradeCallEvents) {
    this.#events = events;
    this.upgraded = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Too late, unless it is over. */
  expire(): void {
    this.#expired = true;
    if (this.#controller !== undefined && !this.#over) {
      this.#events.unanswered(this);
    }
    this.#reject(new ApiError('timeout'));
    this.#controller?.abort(new ApiError('timeout'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#expired) {
      controller.abort(new ApiError('timeout'));
    }
  }

  onRequestUpgrade(
    _controller: Dispatcher.DispatchController,
    _status: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    this.#events.answered();
    socket.once('close', () => this.#finish());
    this.#resolve({ headers, socket });
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    this.#events.answered();
    if (status >= 200) {
      const cause = new Error(`The service answered ${status} to an upgrade.`);
      controller.abort(new ApiError(refusals[status] ?? 'bad_gateway', { cause }));
    }
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#finish();
    this.#reject(toUpstreamError(error));
  }

  #finish(): void {
    if (!this.#over) {
      this.#over = true;
      this.#events.settled();
    }
  }
}
