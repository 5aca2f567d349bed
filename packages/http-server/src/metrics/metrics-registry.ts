/**
 * Counters and measurements of a process in the text format of Prometheus (0.0.4).
 *
 *   createMetricsRegistry ── counter, histogram (cells that the request path adds to)
 *                        └── collect (read at each scrape: a pool, the memory, the event loop)
 *   process-metrics, request-metrics, server-metrics: shared by all apps; the rest is in metrics/ of each app
 *
 * A cell is a number. Text is built only for a scrape. A label accepts declared values only, and
 * `other` for the rest, so a caller cannot create a time series (SL-08). There is no global
 * registry, and nothing is pushed.
 */
import { Histogram } from './histogram.ts';
import { type LabelledCells, type LabelValues, labelledCells } from './labelled-cells.ts';

export interface MetricDefinition<Labels extends LabelValues = LabelValues> {
  readonly name: string;
  readonly help: string;
  /** Label → allowed values. */
  readonly labels?: Labels;
}

export interface Counter {
  value: number;
}

/** One value of a collected metric. */
export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface CollectedMetric extends Omit<MetricDefinition, 'labels'> {
  readonly type: 'counter' | 'gauge';
  read(): number | readonly Sample[];
}

export interface MetricsRegistry {
  counter(definition: MetricDefinition): LabelledCells<Counter>;
  /** @param definition.buckets upper bounds in seconds, in ascending order */
  histogram(
    definition: MetricDefinition & { readonly buckets: readonly number[] },
  ): LabelledCells<Histogram>;
  /** A value that is read at each scrape. The author of `read` must bound its labels. */
  collect(metric: CollectedMetric): void;
  text(): string;
}

export function createMetricsRegistry(): MetricsRegistry {
  const families = new Map<string, () => string>();

  function add(type: string, { name, help }: MetricDefinition, samples: () => string): void {
    if (families.has(name)) {
      throw new Error(`The metric ${name} is declared twice.`);
    }
    families.set(name, () => `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${samples()}`);
  }

  return {
    counter(definition) {
      const cells = labelledCells(definition.labels ?? {}, (): Counter => ({ value: 0 }));
      add('counter', definition, () =>
        cells
          .entries()
          .map(({ labels, cell }) => sampleLine(definition.name, labels, cell.value))
          .join(''),
      );
      return cells;
    },
    histogram(definition) {
      const { name, buckets } = definition;
      const cells = labelledCells(definition.labels ?? {}, () => new Histogram(buckets));
      add('histogram', definition, () =>
        cells
          .entries()
          .map(({ labels, cell }) => histogramLines(name, labels, cell))
          .join(''),
      );
      return cells;
    },
    collect(metric) {
      add(metric.type, metric, () => {
        const read = metric.read();
        const samples = typeof read === 'number' ? [{ value: read }] : read;
        return samples
          .map(({ labels = {}, value }: Sample) => sampleLine(metric.name, labels, value))
          .join('');
      });
    },
    text: () => [...families.values()].map((family) => family()).join(''),
  };
}

function histogramLines(
  name: string,
  labels: Readonly<Record<string, string>>,
  cell: Histogram,
): string {
  const buckets = cell
    .cumulative()
    .map(([bound, count]) =>
      sampleLine(`${name}_bucket`, { ...labels, le: numberText(bound) }, count),
    );
  return [
    ...buckets,
    sampleLine(`${name}_sum`, labels, cell.sum),
    sampleLine(`${name}_count`, labels, cell.count),
  ].join('');
}

function sampleLine(name: string, labels: Readonly<Record<string, string>>, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${numberText(value)}\n`;
}

function numberText(value: number): string {
  return value === Number.POSITIVE_INFINITY ? '+Inf' : String(value);
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
