/** Counts durations in buckets. A request costs one addition and no memory. */
export class Histogram {
  sum = 0;
  readonly #bounds: readonly number[];
  /** The last element counts durations above all bounds. */
  readonly #counts: Float64Array;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  /** @param seconds the measured duration */
  observe(seconds: number): void {
    const bounds = this.#bounds;
    let index = 0;
    while (index < bounds.length && seconds > (bounds[index] ?? 0)) {
      index += 1;
    }
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.sum += seconds;
  }

  get count(): number {
    return this.#counts.reduce((total, each) => total + each, 0);
  }

  /** Returns each upper bound with the number of durations up to it. The last bound is infinity. */
  cumulative(): readonly (readonly [bound: number, count: number])[] {
    let total = 0;
    return [...this.#bounds, Number.POSITIVE_INFINITY].map((bound, index) => {
      total += this.#counts[index] ?? 0;
      return [bound, total] as const;
    });
  }
}
