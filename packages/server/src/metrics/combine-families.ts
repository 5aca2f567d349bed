import type { Combination, FamilySample, MetricFamily } from './metric-family.ts';

/**
 * Combines the metrics of several processes into those of one: counters and histograms are added,
 * and each gauge states its own rule.
 */
export function combineFamilies(
  processes: readonly (readonly MetricFamily[])[],
): readonly MetricFamily[] {
  const combined = new Map<string, { family: MetricFamily; samples: Map<string, FamilySample> }>();
  for (const family of processes.flat()) {
    const entry = combined.get(family.name) ?? { family, samples: new Map() };
    combined.set(family.name, entry);
    for (const sample of family.samples) {
      const key = `${sample.name} ${JSON.stringify(sample.labels)}`;
      const earlier = entry.samples.get(key);
      const value = earlier
        ? combine(family.acrossWorkers, earlier.value, sample.value)
        : sample.value;
      entry.samples.set(key, { ...sample, value });
    }
  }
  return [...combined.values()].map(({ family, samples }) => ({
    ...family,
    samples: [...samples.values()],
  }));
}

/** The part of the metrics that remains true after the process has ended. */
export function withoutGauges(families: readonly MetricFamily[]): readonly MetricFamily[] {
  return families.filter(({ type }) => type !== 'gauge');
}

function combine(rule: Combination, a: number, b: number): number {
  switch (rule) {
    case 'sum':
      return a + b;
    case 'max':
      return Math.max(a, b);
    case 'min':
      return Math.min(a, b);
  }
}
