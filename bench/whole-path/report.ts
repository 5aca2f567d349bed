import { median } from '../machinery/percentile.ts';
import type { BurstSample, Sample } from './run.ts';

const number = (value: number) => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
const row = (cells: readonly (string | number)[]) => console.log(`| ${cells.join(' | ')} |`);

function header(titles: readonly string[]): void {
  console.log('');
  row(titles);
  row(titles.map(() => '---'));
}

function groupBy<Each>(all: readonly Each[], key: (each: Each) => string): Each[][] {
  return [...Map.groupBy(all, key).values()];
}

/** One row for each case, credential, number of connections and side, with medians. */
export function printSamples(samples: readonly Sample[]): void {
  header([
    'engines, case, credential',
    'connections',
    'side',
    'requests/s',
    '÷ before',
    'processor time: before ÷ this',
    'p50 ms',
    'p99 ms',
    'max ms',
    'processor µs per request',
  ]);
  const subject = ({ engines, case: name, credential, connections }: Sample) =>
    `${engines}, ${name}, ${credential}, ${connections}`;
  for (const group of groupBy(samples, subject)) {
    const bySide = groupBy(group, ({ side }) => side);
    const before = bySide.find(([first]) => first?.side === 'before') ?? [];
    for (const each of bySide) {
      printRow(each, before);
    }
  }
}

function printRow(each: readonly Sample[], before: readonly Sample[]): void {
  const [first] = each;
  if (first === undefined) {
    return;
  }
  const of = (value: (sample: Sample) => number) => median(each.map(value));
  // The ratio of each round, because the load on the machine changes between rounds.
  const ratios = each.map(
    ({ requestsPerSecond }, round) =>
      requestsPerSecond / (before[round]?.requestsPerSecond ?? Number.NaN),
  );
  const costs = each.map((sample, round) => totalCost(before[round]) / totalCost(sample));
  const processes = Object.keys(first.cpuMicroseconds).map(
    (name) => `${name} ${number(of((sample) => sample.cpuMicroseconds[name] ?? 0))}`,
  );
  row([
    `${first.engines}, ${first.case}, ${first.credential}`,
    first.connections,
    first.side,
    of((sample) => sample.requestsPerSecond).toFixed(0),
    before.length === 0 ? '' : number(median(ratios)),
    before.length === 0 ? '' : number(median(costs)),
    number(of((sample) => sample.p50Milliseconds)),
    number(of((sample) => sample.p99Milliseconds)),
    number(of((sample) => sample.maximumMilliseconds)),
    processes.join(', '),
  ]);
}

/** Of all processes. */
function totalCost(sample: Sample | undefined): number {
  return Object.values(sample?.cpuMicroseconds ?? {}).reduce((sum, each) => sum + each, 0);
}

/** One row for each burst, with medians. */
export function printBursts(bursts: readonly BurstSample[]): void {
  header([
    'burst on an idle system',
    'side',
    'p50 ms',
    'p99 ms',
    'max ms',
    'steady p50 ms',
    'steady max ms',
    'max ÷ steady p50',
  ]);
  const subject = ({ engines, side, connections }: BurstSample) =>
    `${engines} ${side} ${connections}`;
  for (const each of groupBy(bursts, subject)) {
    const [first] = each;
    const of = (value: (sample: BurstSample) => number) => number(median(each.map(value)));
    row([
      `${first?.engines}, ${first?.case}, ${first?.connections} connections`,
      first?.side ?? '',
      of(({ p50 }) => p50),
      of(({ p99 }) => p99),
      of(({ maximum }) => maximum),
      of(({ steadyP50 }) => steadyP50),
      of(({ steadyMaximum }) => steadyMaximum),
      of(({ maximum, steadyP50 }) => maximum / steadyP50),
    ]);
  }
}
