/** An operation with a deadline. */
export interface Expiring {
  /** Index among the running operations, or -1. Deadlines sets both numbers. */
  slot: number;
  /** Monotonic milliseconds. */
  expiresAt: number;
  expire(): void;
}

const SWEEP_MILLISECONDS = 25;

/**
 * The deadlines of all running exchanges, checked by one timer. One timer per request would cost
 * more (bench/gateway). A deadline ends an exchange up to 25 ms late, never early.
 */
export class Deadlines<Each extends Expiring> {
  readonly #running: Each[] = [];
  #sweeper: NodeJS.Timeout | undefined;

  start(each: Each, milliseconds: number): void {
    each.expiresAt = performance.now() + milliseconds;
    each.slot = this.#running.push(each) - 1;
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MILLISECONDS);
  }

  /** Restarts the deadline of a running operation. */
  extend(each: Each, milliseconds: number): void {
    each.expiresAt = performance.now() + milliseconds;
  }

  /** The running exchanges, in no particular order. */
  get running(): readonly Each[] {
    return this.#running;
  }

  /** Does nothing when the operation has ended. */
  end(each: Each): void {
    const { slot } = each;
    if (slot === -1) {
      return;
    }
    each.slot = -1;
    const last = this.#running.pop();
    if (last !== undefined && last !== each) {
      this.#running[slot] = last;
      last.slot = slot;
    }
  }

  #sweep(): void {
    const now = performance.now();
    const expired = this.#running.filter(({ expiresAt }) => expiresAt <= now);
    for (const each of expired) {
      each.expire();
    }
    if (this.#running.length === 0) {
      clearInterval(this.#sweeper);
      this.#sweeper = undefined;
    }
  }
}
