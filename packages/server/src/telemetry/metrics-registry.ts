/**
 * Counters and measurements of a process in the text format of Prometheus (0.0.4).
 *
 *   createMetricsRegistry ── counter, histogram (cells that the request path adds to)
 *                        └── collect (read at each scrape: a pool, the memory, the event loop)
 *   metric-families: the values of a scrape as text, and those of several workers combined
 *   process-metrics, store-signals, requests/request-records: shared by all apps. Each app adds its own
 *
 * A cell is a number. Text is built only for a scrape. A label accepts declared values only, and
 * `other` for the rest, so a caller cannot create a time series. There is no global
 * registry, and nothing is pushed.
 */
import { Histogram, type LabelValues, labelledCells } from './cells.ts';
import {
  type Combination,
  type FamilySample,
  type MetricFamily,
  numberText,
} from './metric-families.ts';

interface MetricDefinition {
  readonly name: string;
  readonly help: string;
  readonly labels?: LabelValues;
}

export interface CollectedMetric extends Omit<MetricDefinition, 'labels'> {
  /** Of a gauge: the value of an app with several workers. Without it, the metric is a counter. */
  readonly acrossWorkers?: Combination;
  /** Undefined if there is no value. */
  read(): number | undefined | readonly Omit<FamilySample, 'name'>[];
}

export type MetricsRegistry = ReturnType<typeof createMetricsRegistry>;

export function createMetricsRegistry() {
  const families = new Map<string, () => MetricFamily>();

  function add(
    { name, help }: MetricDefinition,
    type: MetricFamily['type'],
    acrossWorkers: Combination,
    read: () => readonly FamilySample[],
  ): void {
    if (families.has(name)) {
      throw new Error(`The metric ${name} is declared twice.`);
    }
    families.set(name, () => ({ name, help, type, acrossWorkers, samples: read() }));
  }

  return {
    counter(definition: MetricDefinition) {
      const cells = labelledCells(definition.labels ?? {}, () => ({ value: 0 }));
      // Prometheus sees the first event only if the series was 0 before.
      const [values = [], ...furtherLabels] = Object.values(definition.labels ?? {});
      if (furtherLabels.length === 0) {
        values.forEach((value) => void cells.of(value));
      }
      add(definition, 'counter', 'sum', () =>
        cells
          .entries()
          .map(({ labels, cell }) => ({ name: definition.name, labels, value: cell.value })),
      );
      return cells;
    },
    /** @param definition.buckets upper bounds in seconds, in ascending order */
    histogram(definition: MetricDefinition & { readonly buckets: readonly number[] }) {
      const { name, buckets } = definition;
      const cells = labelledCells(definition.labels ?? {}, () => new Histogram(buckets));
      add(definition, 'histogram', 'sum', () =>
        cells.entries().flatMap(({ labels, cell }) => histogramSamples(name, labels, cell)),
      );
      return cells;
    },
    /** A value that is read at each scrape. The author of `read` must bound its labels. */
    collect(metric: CollectedMetric): void {
      const { name, acrossWorkers } = metric;
      add(metric, acrossWorkers ? 'gauge' : 'counter', acrossWorkers ?? 'sum', () => {
        const read = metric.read();
        if (typeof read === 'object') {
          return read.map((sample) => ({ name, ...sample }));
        }
        return read === undefined ? [] : [{ name, labels: {}, value: read }];
      });
    },
    families: (): readonly MetricFamily[] => [...families.values()].map((family) => family()),
    /** The current values of one metric. Empty if no app declares it. */
    samplesOf: (name: string): readonly FamilySample[] => families.get(name)?.().samples ?? [],
  };
}

function histogramSamples(
  name: string,
  labels: Readonly<Record<string, string>>,
  cell: Histogram,
): readonly FamilySample[] {
  const buckets = cell.cumulative().map(([bound, value]) => ({
    name: `${name}_bucket`,
    labels: { ...labels, le: numberText(bound) },
    value,
  }));
  const { value: count = 0 } = buckets.at(-1) ?? {};
  return [
    ...buckets,
    { name: `${name}_sum`, labels, value: cell.sum },
    { name: `${name}_count`, labels, value: count },
  ];
}
