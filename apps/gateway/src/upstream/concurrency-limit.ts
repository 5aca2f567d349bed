import { serviceUnavailable } from '@gatehouse/api-envelope';

/** How many exchanges of one kind there may be, and are. */
export class ConcurrencyLimit {
  readonly #limit: number;
  #inFlight = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** @throws ApiError `service_unavailable` where there is no room */
  enter(): void {
    if (this.#inFlight >= this.#limit) {
      throw serviceUnavailable(new Error('Too many requests are waiting for the upstream.'));
    }
    this.#inFlight += 1;
  }

  leave(): void {
    this.#inFlight -= 1;
  }
}
