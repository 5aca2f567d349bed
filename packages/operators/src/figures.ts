/** What the servers counted, for the plots of operators. */
import {
  type CountedGroup,
  type Counts,
  durationQuantile,
  REST,
  type SeriesPoint,
} from '@gatehouse/identity';
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

export const figurePeriods = Object.keys(periods) as readonly FigurePeriod[];
export const figurePeriod = z.enum(figurePeriods);
export type FigurePeriod = keyof typeof periods;

const apps = ['gateway', 'authorization-server'] as const;

/** A member of a group with its count: a grant, a kind of credential, a reason or a client. */
export interface Counted {
  readonly name: string;
  readonly count: number;
}

/** What happened in a step. Latencies are in milliseconds, and undefined if nothing was measured. */
export interface FigurePoint {
  /** The start of the step, in epoch milliseconds. */
  readonly at: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly tokens: Readonly<Record<string, number>>;
  readonly verifications: Readonly<Record<string, number>>;
  readonly p50: number | undefined;
  readonly p99: number | undefined;
}

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
      const [gateway, server] = await Promise.all(
        apps.map((app) => timeSeries.read({ app, ...range })),
      );
      const parts = [gateway, server].filter((each) => each !== undefined);
      const totals = parts.map(({ total }) => total);
      const points = (gateway?.points ?? []).map((point, index) =>
        toPoint([point, server?.points[index]].filter((each) => each !== undefined)),
      );
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

function toPoint(parts: readonly SeriesPoint[]): FigurePoint {
  const counts = parts.map((part) => part.counts);
  const record = (group: CountedGroup) => Object.fromEntries(sumOf(counts, group));
  return {
    at: parts[0]?.at ?? 0,
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

/** The most frequent first. It omits what had no room of its own. */
function ranked(parts: readonly Counts[], group: CountedGroup): readonly Counted[] {
  return [...sumOf(parts, group)]
    .filter(([name, count]) => name !== REST && count > 0)
    .map(([name, count]) => ({ name, count }))
    .sort((a, b) => b.count - a.count);
}
