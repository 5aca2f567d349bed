/** How the values of several workers combine into one: their sum, the largest or the smallest. */
export type Combination = keyof typeof combinations;

/** A metric with its values at the time of a scrape. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly acrossWorkers: Combination;
  readonly samples: readonly FamilySample[];
}

export interface FamilySample {
  /** The name of the metric. Those of a histogram end in `_bucket`, `_sum` and `_count`. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Writes the text format of Prometheus (0.0.4). */
export function metricsText(families: readonly MetricFamily[]): string {
  return families
    .map(({ name, help, type, samples }) => {
      const lines = samples.map(sampleLine).join('');
      return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines}`;
    })
    .join('');
}

function sampleLine({ name, labels, value }: FamilySample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${numberText(value)}\n`;
}

export function numberText(value: number): string {
  return value === Number.POSITIVE_INFINITY ? '+Inf' : String(value);
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

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
      const combine = combinations[family.acrossWorkers];
      const value = earlier ? combine(earlier.value, sample.value) : sample.value;
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

const combinations = { sum: (a: number, b: number) => a + b, max: Math.max, min: Math.min };
