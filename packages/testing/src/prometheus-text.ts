/** One exported metric. */
export interface MetricFamily {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly {
    /** Ends in `_bucket`, `_sum` or `_count` for a histogram. */
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly value: number;
  }[];
}

const HELP = /^# HELP ([a-z_:][a-z0-9_:]*) (\S.*)$/;
const TYPE = /^# TYPE ([a-z_:][a-z0-9_:]*) (counter|gauge|histogram)$/;
const SAMPLE = /^([a-z_:][a-z0-9_:]*)(?:\{([^{}]*)\})? (-?[0-9.e+-]+|\+Inf|NaN)$/;
const LABELS = /^(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*"(?:,(?!$)|$))*$/;

/**
 * Reads the text format of Prometheus strictly: HELP, TYPE, then the samples of that metric.
 *
 * @throws Error at the first line that is invalid or in the wrong place
 */
export function parseMetrics(text: string): ReadonlyMap<string, MetricFamily> {
  if (!text.endsWith('\n')) {
    throw new Error('The last line has no line break.');
  }
  const families = new Map<string, MetricFamily>();
  const lines = text.slice(0, -1).split('\n');
  for (let i = 0; i < lines.length; ) {
    const [, name = '', help = ''] = HELP.exec(lines[i] ?? '') ?? [];
    const [, typed, type = ''] = TYPE.exec(lines[i + 1] ?? '') ?? [];
    if (name === '' || typed !== name || families.has(name)) {
      throw new Error(`This line does not begin a metric: ${lines[i]}`);
    }
    i += 2;
    const samples: MetricFamily['samples'][number][] = [];
    for (; i < lines.length && !lines[i]?.startsWith('#'); i += 1) {
      samples.push(parseSample(lines[i] ?? '', name, type));
    }
    families.set(name, { name, type, help, samples });
  }
  return families;
}

function parseSample(line: string, family: string, type: string): MetricFamily['samples'][number] {
  const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? [];
  const suffixes = type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
  if (!suffixes.some((suffix) => name === family + suffix) || !LABELS.test(labels)) {
    throw new Error(`This line is not a sample of ${family}: ${line}`);
  }
  const pairs = [...labels.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)];
  return {
    name,
    labels: Object.fromEntries(pairs.map(([, label, text]) => [label, text])),
    value: Number(value.replace('+Inf', 'Infinity')),
  };
}
