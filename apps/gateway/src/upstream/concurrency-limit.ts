import { serviceUnavailable } from '@gatehouse/errors';

/** Limits how many exchanges of one kind run at the same time. */
export class ConcurrencyLimit {
  readonly #limit: number;
  #inFlight = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** @throws ApiError `service_unavailable` when the limit is reached */
  enter(): void {
    if (this.#inFlight >= this.#limit) {
      throw serviceUnavailable(
        new Error('Too many requests are waiting for the upstream.'),
        'upstream_overloaded',
      );
    }
    this.#inFlight += 1;
  }

  leave(): void {
    this.#inFlight -= 1;
  }
}
