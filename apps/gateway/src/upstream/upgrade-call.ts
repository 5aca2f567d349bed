import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import { ApiError, type ErrorCode } from '@gatehouse/errors';
import type { Dispatcher } from 'undici';
import type { WatchedCall } from './circuit-breaker.ts';
import { toUpstreamError } from './upstream-errors.ts';

export interface UpgradedConnection {
  readonly headers: IncomingHttpHeaders;
  readonly socket: Duplex;
}

/**
 * Status of the service instead of 101 → error code of the reply. Every other status is
 * `bad_gateway`.
 */
const refusals: Readonly<Record<number, ErrorCode>> = {
  400: 'illegal_argument',
  403: 'access_denied',
  404: 'not_found',
  426: 'illegal_argument',
  429: 'too_many_requests',
  503: 'service_unavailable',
};

export interface UpgradeCallEvents {
  /** The service sent any answer. */
  answered(): void;
  /** The handshake was sent and reached its deadline without an answer. */
  unanswered(call: UpgradeCall): void;
  /** Called once, when the handshake fails or the WebSocket closes. */
  settled(): void;
}

/** Opens one WebSocket through undici. */
export class UpgradeCall implements Dispatcher.DispatchHandler, WatchedCall {
  /** A handshake has no body. */
  readonly isUploading = false;
  activityBefore = 0;
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

  /** The deadline has passed. */
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
      controller.abort(
        new ApiError(refusals[status] ?? 'bad_gateway', { cause, reason: 'upstream_refused' }),
      );
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
