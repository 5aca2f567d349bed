/**
 * Counters and measurements of a process in the text format of Prometheus (0.0.4).
 *
 *   createMetricsRegistry ── counter, histogram (cells that the request path adds to)
 *                        └── collect (read at each scrape: a pool, the memory, the event loop)
 *   metric-families: the values of a scrape as text, and those of several workers combined
 *   process-metrics, request-metrics, store-signals: shared by all apps; the rest is in metrics/ of each app
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
  metricsText,
  numberText,
} from './metric-families.ts';

interface MetricDefinition<Labels extends LabelValues = LabelValues> {
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

export type CollectedMetric = Omit<MetricDefinition, 'labels'> & {
  read(): number | readonly Sample[];
} & (
    | { readonly type: 'counter' }
    | {
        readonly type: 'gauge';
        /** The value of an app with several workers. */
        readonly acrossWorkers: Combination;
      }
  );

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

  const current = (): readonly MetricFamily[] => [...families.values()].map((family) => family());
  return {
    counter(definition: MetricDefinition) {
      const cells = labelledCells(definition.labels ?? {}, (): Counter => ({ value: 0 }));
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
      const rule = metric.type === 'gauge' ? metric.acrossWorkers : 'sum';
      add(metric, metric.type, rule, () => {
        const read = metric.read();
        const samples = typeof read === 'number' ? [{ value: read }] : read;
        return samples.map(({ labels = {}, value }: Sample) => ({
          name: metric.name,
          labels,
          value,
        }));
      });
    },
    families: current,
    text: () => metricsText(current()),
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
  return [
    ...buckets,
    { name: `${name}_sum`, labels, value: cell.sum },
    { name: `${name}_count`, labels, value: cell.count },
  ];
}
