/**
 * What the processes of an app counted in each minute of the last day and in each hour of the last
 * 30 days, for the plots of operators. Prometheus remains the tool for everything else.
 *
 *   add ─▶ the cells of the current minute and hour ─▶ read (points of a step, and their total)
 *
 * A cell is one text in the store that all processes share. A process adds to it with a
 * compare-and-set, because only a reader of the whole cell can keep it small: each group of counts
 * has a maximum number of members. Adding counters to a hash would need an operation of its own, and
 * could not bound the clients of several processes.
 *
 * Not here: counting (`createIncrements` of packages/server) and the time of writes
 * (`process-list.ts`).
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '@gatehouse/store';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { parseRecord, type RecordDependencies } from '../records/record.ts';

/**
 * The groups of counts, with their maximum number of members. Beyond it, a cell keeps the largest
 * ones, and counts the others under `REST`. Only the last three groups have more members than fit.
 * Their counts can be too low, never too high: a client that is never among the largest of its cell
 * has no count.
 */
const groupSizes = {
  /** Requests by `success`, `refused`, `failed` and `aborted`. */
  outcomes: 8,
  /** Requests that took at most so many seconds: the cumulative buckets of the metrics. */
  durations: 16,
  /** Issued tokens by grant. */
  tokens: 24,
  /** Verified credentials by kind and result, for example `bearer accepted`. */
  verifications: 40,
  /** Failed requests by the reason in packages/errors. */
  reasons: 16,
  /** Successful requests by client. */
  clients: 16,
  /** Failed requests by the client that they name, which may be an attacker's choice. */
  failingClients: 16,
} as const;

export type CountedGroup = keyof typeof groupSizes;

const groups = Object.keys(groupSizes) as CountedGroup[];

/** The member that counts all members without room. It is the name of no client and no reason. */
export const REST = '';

/** Member → count, largest first. Maps, because a client may be called `__proto__`. */
export type Counts = Readonly<Record<CountedGroup, ReadonlyMap<string, number>>>;

/** What was counted in the step that begins at `at`, in epoch milliseconds. */
export type SeriesPoint = Awaited<ReturnType<TimeSeries['read']>>['points'][number];

interface SeriesQuery {
  /** The app that counted: `gateway` or `authorization-server`. */
  readonly app: string;
  /** Epoch milliseconds. The first point contains this time. */
  readonly from: number;
  /** Epoch milliseconds, exclusive. */
  readonly to: number;
  /**
   * The length of a point: whole minutes, which are kept for a day, or whole hours, which are kept
   * for 30 days.
   */
  readonly stepSeconds: number;
}

const MINUTE_SECONDS = 60;
const HOUR_SECONDS = 60 * MINUTE_SECONDS;
const DAY_SECONDS = 24 * HOUR_SECONDS;

/** A cell is kept a little longer than a plot shows it. */
const minutes = {
  name: 'minute',
  seconds: MINUTE_SECONDS,
  keptSeconds: DAY_SECONDS + HOUR_SECONDS,
};
const hours = { name: 'hour', seconds: HOUR_SECONDS, keptSeconds: 31 * DAY_SECONDS };

type Resolution = typeof minutes;

/** A read never occupies the connection to the store with more operations. */
const CELLS_AT_ONCE = 60;
/** A process writes every ten seconds, so a cell no longer changes when it ended this long ago. */
const SETTLED_MILLISECONDS = 30_000;
const MAXIMUM_REMEMBERED = 4096;
const ATTEMPTS = 8;
/** It doubles with every attempt. */
const LONGEST_PAUSE_MILLISECONDS = 10;

export type TimeSeries = ReturnType<typeof createTimeSeries>;

/** @param dependencies.now epoch milliseconds */
export function createTimeSeries({ store, now }: RecordDependencies) {
  const settled = new LRUCache<string, Counts>({ max: MAXIMUM_REMEMBERED });
  const keyOf = (app: string, { name, seconds }: Resolution, at: number) =>
    `time-series:${app}:${name}:${Math.floor(at / (seconds * 1000))}`;

  async function readCell(app: string, resolution: Resolution, at: number): Promise<Counts> {
    const key = keyOf(app, resolution, at);
    const known = settled.get(key);
    if (known !== undefined) {
      return known;
    }
    const counts = parseCell(await store.get(key));
    if (at + resolution.seconds * 1000 + SETTLED_MILLISECONDS < now()) {
      settled.set(key, counts);
    }
    return counts;
  }

  return {
    /**
     * Adds what a process counted to the cells of the current minute and hour.
     *
     * @throws Error if one of them did not get it: the store is unavailable or full, or other
     *   processes were faster eight times. A second attempt could count twice, so there is none
     */
    async add(app: string, increments: Partial<Counts>): Promise<void> {
      const at = now();
      await Promise.all(
        [minutes, hours].map((resolution) =>
          addToCell(store, keyOf(app, resolution, at), resolution.keptSeconds, increments),
        ),
      );
    },
    /**
     * The points of a time range, oldest first, and their sum. A point without traffic has empty
     * groups.
     *
     * @throws StoreUnavailableError
     */
    async read({ app, from, to, stepSeconds }: SeriesQuery) {
      const resolution = stepSeconds % HOUR_SECONDS === 0 ? hours : minutes;
      const [step, length] = [stepSeconds * 1000, resolution.seconds * 1000];
      const first = Math.floor(from / step) * step;
      const points = Math.ceil((to - first) / step);
      const cellsOfPoint = step / length;
      const size = points * cellsOfPoint;
      const cells: Counts[] = [];
      while (cells.length < size) {
        const next = Array.from(
          { length: Math.min(CELLS_AT_ONCE, size - cells.length) },
          (_, index) => readCell(app, resolution, first + (cells.length + index) * length),
        );
        cells.push(...(await Promise.all(next)));
      }
      return {
        points: Array.from({ length: points }, (_, index) => {
          const counted = cells.slice(index * cellsOfPoint, (index + 1) * cellsOfPoint);
          return { at: first + index * step, counts: sumOf(counted) };
        }),
        total: sumOf(cells),
      };
    },
  };
}

async function addToCell(
  store: Store,
  key: string,
  keptSeconds: number,
  increments: Partial<Counts>,
): Promise<void> {
  let found = await store.get(key);
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const text = cellText(sumOf([parseCell(found), increments]));
    if (found === undefined) {
      found = await store.claim(key, text, keptSeconds);
    } else if (await store.replace(key, found, text)) {
      return;
    } else {
      await sleep(Math.random() * LONGEST_PAUSE_MILLISECONDS * 2 ** attempt);
      found = await store.get(key);
    }
    // The text is unique. After a lost reply, the store can have it although it said no.
    if (found === text) {
      return;
    }
  }
  throw new Error('Other processes changed the cell of the time series at the same time.');
}

/** Members are pairs, largest first. */
const storedCell = z.looseObject({
  groups: z.record(z.string(), z.array(z.tuple([z.string(), z.number().nonnegative()]))),
});

/** A damaged cell is empty, and the next write replaces it. */
function parseCell(text: string | undefined): Counts {
  const stored = text === undefined ? undefined : parseRecord(storedCell, text)?.groups;
  return countsOf((group) => new Map(stored?.[group]));
}

/** @returns a text that no other write has, so that a process recognizes its own */
function cellText(counts: Counts): string {
  const filled = groups.filter((group) => counts[group].size > 0);
  return JSON.stringify({
    write: randomBytes(9).toString('base64url'),
    groups: Object.fromEntries(filled.map((group) => [group, [...counts[group]]])),
  });
}

function sumOf(parts: readonly Partial<Counts>[]): Counts {
  return countsOf((group) => {
    const sum = new Map<string, number>();
    for (const part of parts) {
      for (const [member, count] of part[group] ?? []) {
        sum.set(member, (sum.get(member) ?? 0) + count);
      }
    }
    return largest(sum, groupSizes[group]);
  });
}

function largest(counts: ReadonlyMap<string, number>, size: number): ReadonlyMap<string, number> {
  const named = [...counts].filter(([member]) => member !== REST).sort(([, a], [, b]) => b - a);
  const beyond = named.slice(size).reduce((sum, [, count]) => sum + count, counts.get(REST) ?? 0);
  return new Map([...named.slice(0, size), ...(beyond > 0 ? [[REST, beyond] as const] : [])]);
}

function countsOf(read: (group: CountedGroup) => ReadonlyMap<string, number>): Counts {
  return Object.fromEntries(groups.map((group) => [group, read(group)])) as unknown as Counts;
}

/**
 * Estimates a quantile as Prometheus does: it assumes that the durations of a bucket are spread
 * evenly. Above the last finite bound, it returns that bound.
 *
 * @param durations of a point or a total
 * @param quantile 0.5 for the median, 0.99 for p99
 * @returns milliseconds, or undefined if nothing was measured
 */
export function durationQuantile(
  durations: ReadonlyMap<string, number>,
  quantile: number,
): number | undefined {
  const buckets = [...durations]
    .map(
      ([bound, count]) =>
        [bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound), count] as const,
    )
    .sort(([a], [b]) => a - b);
  const total = buckets.at(-1)?.[1] ?? 0;
  const sought = quantile * total;
  let [lower, below] = [0, 0];
  for (const [bound, count] of total > 0 ? buckets : []) {
    if (count >= sought && count > below) {
      const share = (sought - below) / (count - below);
      return 1000 * (Number.isFinite(bound) ? lower + (bound - lower) * share : lower);
    }
    [lower, below] = [bound, count];
  }
  return undefined;
}
