/** What the servers counted, for the plots of operators. */
import { type CountedGroup, type Counts, durationQuantile, REST } from '@gatehouse/identity';
import { z } from 'zod';
import { type Dependencies, parseInput } from './operator.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;

/** How long a period is, and one point of it, in seconds. */
const periods = {
  '1h': { seconds: HOUR, stepSeconds: MINUTE },
  '24h': { seconds: 24 * HOUR, stepSeconds: 15 * MINUTE },
  '7d': { seconds: 7 * 24 * HOUR, stepSeconds: 3 * HOUR },
  '30d': { seconds: 30 * 24 * HOUR, stepSeconds: 12 * HOUR },
} as const;

export const figurePeriod = z.enum(Object.keys(periods) as FigurePeriod[]);
type FigurePeriod = keyof typeof periods;

const apps = ['gateway', 'authorization-server'] as const;

export type Figures = Awaited<ReturnType<ReturnType<typeof createFigureActs>['read']>>;

export function createFigureActs({ identity, now }: Dependencies) {
  const { timeSeries } = identity;
  return {
    /** The points and the totals of both servers, for a period that ends now. */
    async read(wanted: FigurePeriod) {
      const period = parseInput(figurePeriod, wanted);
      const { seconds, stepSeconds } = periods[period];
      const to = now() + 1;
      const range = { from: to - (seconds - stepSeconds) * 1000, to, stepSeconds };
      const read = await Promise.all(apps.map((app) => timeSeries.read({ app, ...range })));
      const totals = read.map(({ total }) => total);
      // Both have points of the same times.
      const countsAt = (index: number) => read.flatMap((each) => each.points[index]?.counts ?? []);
      const points = (read[0]?.points ?? []).map(({ at }, index) => toPoint(at, countsAt(index)));
      return {
        points,
        since: points[0]?.at ?? to,
        p50: quantileOf(totals, 0.5),
        p99: quantileOf(totals, 0.99),
        outcomes: ranked(totals, 'outcomes'),
        tokens: ranked(totals, 'tokens'),
        verifications: ranked(totals, 'verifications'),
        reasons: ranked(totals, 'reasons'),
        clients: ranked(totals, 'clients'),
        failingClients: ranked(totals, 'failingClients'),
      };
    },
  };
}

/** What happened in a step. Latencies are in milliseconds, and undefined if nothing was measured. */
function toPoint(at: number, counts: readonly Counts[]) {
  const record = (group: CountedGroup): Readonly<Record<string, number>> =>
    Object.fromEntries(sumOf(counts, group));
  return {
    /** The start of the step, in epoch milliseconds. */
    at,
    outcomes: record('outcomes'),
    tokens: record('tokens'),
    verifications: record('verifications'),
    p50: quantileOf(counts, 0.5),
    p99: quantileOf(counts, 0.99),
  };
}

function sumOf(parts: readonly Counts[], group: CountedGroup): Map<string, number> {
  const sum = new Map<string, number>();
  for (const part of parts) {
    for (const [name, count] of part[group]) {
      sum.set(name, (sum.get(name) ?? 0) + count);
    }
  }
  return sum;
}

const quantileOf = (parts: readonly Counts[], quantile: number) =>
  durationQuantile(sumOf(parts, 'durations'), quantile);

/** Grants, kinds of credentials, reasons or clients: the most frequent first, if they had room. */
function ranked(parts: readonly Counts[], group: CountedGroup) {
  return [...sumOf(parts, group)]
    .filter(([name, count]) => name !== REST && count > 0)
    .map(([name, count]) => ({ name, count }))
    .sort((a, b) => b.count - a.count);
}
