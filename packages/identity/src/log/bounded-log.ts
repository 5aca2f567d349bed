import type { AppendOptions, Store } from '@gatehouse/store';
import { LRUCache } from 'lru-cache';

const DAY_SECONDS = 24 * 60 * 60;
const SMALLEST_SHARE = 10;
const MAXIMUM_REMEMBERED = 10_000;
/** A search reads the newest lines first, because most searches need only these. */
const FIRST_LINES = 512;

/**
 * Trails of JSON lines in the store that all processes share, limited in number and age. Entries
 * that are cheaper to cause are in another trail, so that they displace no others. Within a trail,
 * an origin may be limited to a share: in each window, it may add so many entries that it fills at
 * most half of the trail within the retention time.
 *
 * @param log.name of the keys in the store
 * @param log.capacities the maximum number of entries of each trail
 * @param log.shareSeconds the window of a share
 */
export function createBoundedLog<Trail extends string>(
  log: {
    readonly name: string;
    readonly capacities: Readonly<Record<Trail, number>>;
    readonly retentionDays: number;
    readonly shareSeconds: number;
  },
  { store, now }: LogDependencies,
) {
  const maximumAgeSeconds = log.retentionDays * DAY_SECONDS;
  const keyOf = (trail: Trail) => `${log.name}:${trail}`;
  /** When the share of an exhausted origin resets. Until then, it costs no store operation. */
  const usedUp = new LRUCache<string, number>({ max: MAXIMUM_REMEMBERED });
  const shareKeyOf = (trail: Trail, origin: string) => `${log.name}-share:${trail}:${origin}`;
  const isUsedUp = (trail: Trail, origin: string) =>
    (usedUp.get(shareKeyOf(trail, origin)) ?? 0) > now();

  async function searchTrail<Entry>(
    trail: Trail,
    sought: LogSearch<Entry>,
    size = FIRST_LINES,
  ): Promise<readonly Entry[]> {
    const since = Math.max(sought.since, now() - maximumAgeSeconds * 1000);
    const lines = await store.read(keyOf(trail), size);
    const entries = sought.parse(lines);
    const { until = Number.POSITIVE_INFINITY, timeOf } = sought;
    const found = entries
      .filter((entry) => timeOf(entry) >= since && timeOf(entry) <= until && sought.matches(entry))
      .sort(newestFirst(timeOf));
    const oldest = entries.at(-1);
    const isPastSince = oldest !== undefined && sought.timeOf(oldest) < since;
    return lines.length < size || isPastSince || found.length >= sought.limit || size > FIRST_LINES
      ? found.slice(0, sought.limit)
      : searchTrail(trail, sought, log.capacities[trail]);
  }

  return {
    trails: Object.keys(log.capacities) as unknown as readonly Trail[],

    append: (trail: Trail, lines: readonly string[], options?: AppendOptions) =>
      store.append(keyOf(trail), lines, log.capacities[trail], { ...options, maximumAgeSeconds }),

    /** The matching entries of these trails since a time in epoch milliseconds, newest first. */
    async search<Entry>(trails: readonly Trail[], sought: LogSearch<Entry>) {
      const found = await Promise.all(trails.map((trail) => searchTrail(trail, sought)));
      return found.flat().sort(newestFirst(sought.timeOf)).slice(0, sought.limit);
    },

    /** Whether the share of an origin is known to be used up. */
    isUsedUp,

    /** Returns how many of the entries the origin may add now, in all processes together. */
    async takeShare(trail: Trail, origin: string, entries: number): Promise<number> {
      if (isUsedUp(trail, origin)) {
        return 0;
      }
      const key = shareKeyOf(trail, origin);
      const { count, resetsAt } = await store.increment(key, log.shareSeconds, entries);
      const windows = maximumAgeSeconds / log.shareSeconds;
      const share = Math.max(SMALLEST_SHARE, Math.floor(log.capacities[trail] / 2 / windows));
      const left = share - (count - entries);
      if (left <= entries) {
        usedUp.set(key, resetsAt);
      }
      return Math.max(0, Math.min(entries, left));
    },
  };
}

export type BoundedLog<Trail extends string> = ReturnType<typeof createBoundedLog<Trail>>;

export interface LogDependencies {
  readonly store: Pick<Store, 'append' | 'read' | 'increment'>;
  readonly now: () => number;
}

interface LogSearch<Entry> {
  /** Omits damaged lines. */
  readonly parse: (lines: readonly string[]) => readonly Entry[];
  /** Epoch milliseconds. */
  readonly timeOf: (entry: Entry) => number;
  readonly matches: (entry: Entry) => boolean;
  readonly since: number;
  readonly until?: number | undefined;
  readonly limit: number;
}

const newestFirst =
  <Entry>(timeOf: LogSearch<Entry>['timeOf']) =>
  (a: Entry, b: Entry) =>
    timeOf(b) - timeOf(a);

/** Whether the entry has each of these members that the filter names. */
export function hasMembers<Name extends string>(
  entry: object,
  filter: Readonly<Partial<Record<Name, unknown>>>,
  names: readonly Name[],
): boolean {
  const sought = names.filter((name) => filter[name] !== undefined);
  return sought.every((name) => Reflect.get(entry, name) === filter[name]);
}
