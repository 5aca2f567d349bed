/** What may take only so long. */
export interface Expiring {
  /** Its place among those that run; -1 when it does not. Kept by Deadlines, as is the other. */
  slot: number;
  /** Monotonic milliseconds. */
  expiresAt: number;
  expire(): void;
}

const SWEEP_MILLISECONDS = 25;

/**
 * The deadlines of all exchanges that run, looked through by one timer: a timer for each would be started and
 * stopped for every request. An end comes up to 25 ms late, never early.
 */
export class Deadlines<Each extends Expiring> {
  readonly #running: Each[] = [];
  #sweeper: NodeJS.Timeout | undefined;

  start(each: Each, milliseconds: number): void {
    each.expiresAt = performance.now() + milliseconds;
    each.slot = this.#running.push(each) - 1;
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MILLISECONDS);
  }

  /** Begins again, for one that runs. */
  extend(each: Each, milliseconds: number): void {
    each.expiresAt = performance.now() + milliseconds;
  }

  /** The running exchanges, in no particular order. */
  get running(): readonly Each[] {
    return this.#running;
  }

  /** Nothing, when it is over already. */
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
