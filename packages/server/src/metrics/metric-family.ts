/** How the values of several workers combine into one: their sum, the largest or the smallest. */
export type Combination = 'sum' | 'max' | 'min';

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
