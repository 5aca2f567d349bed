/** Durations of the same work, in any unit. */
export type Times = readonly number[];

export function median(values: Times): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}

/**
 * Compares two kinds of work by the times of their rounds: returns the median of the ratios.
 *
 * The ratio of the medians would be unstable while the speed of the machine alternates between two
 * values, because a few samples can move the median of one kind to the other value.
 */
export function medianRatio(times: Times, references: Times): number {
  return median(times.map((time, round) => time / (references[round] ?? Number.NaN)));
}
