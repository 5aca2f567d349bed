import type { Store } from '@gatehouse/store';
import { formatEntry, type RequestEntry } from './request-entry.ts';

export const REQUEST_RETENTION_DAYS = 7;
const DAY_SECONDS = 24 * 60 * 60;

/**
 * Maximum number of entries of each trail. An entry needs at most 740 bytes in Redis, so all trails
 * need less than 16 MB. The trails are separate, so that entries that are cheaper to cause displace
 * no others:
 *
 * - `client`: failures of clients that proved their identity
 * - `caller`: failures of all other callers
 * - `success`: a sample of the requests that succeeded
 * - `client-overflow`, `caller-overflow`: the latest failures beyond a share
 */
const capacities = {
  client: 9_000,
  caller: 5_000,
  success: 3_500,
  'client-overflow': 2_000,
  'caller-overflow': 2_000,
} as const;

export type RequestTrail = keyof typeof capacities;
/** The trails in which each client or address group has a share. */
export type SharedTrail = Exclude<RequestTrail, `${string}-overflow`>;

export const requestTrails = Object.keys(capacities) as readonly RequestTrail[];

/** How many entries one client or address group may add in an hour. */
export function shareOf(trail: SharedTrail): number {
  return Math.floor(capacities[trail] / 2 / (REQUEST_RETENTION_DAYS * 24));
}

export interface RequestTrails {
  append(trail: RequestTrail, entries: readonly RequestEntry[]): Promise<void>;
  /** The newest lines, newest first. All by default. */
  read(trail: RequestTrail, limit?: number): Promise<readonly string[]>;
}

export function createRequestTrails(store: Pick<Store, 'append' | 'read'>): RequestTrails {
  const keyOf = (trail: RequestTrail) => `request-log:${trail}`;
  return {
    append: (trail, entries) =>
      store.append(keyOf(trail), entries.map(formatEntry), capacities[trail], {
        maximumAgeSeconds: REQUEST_RETENTION_DAYS * DAY_SECONDS,
      }),
    read: (trail, limit = capacities[trail]) => store.read(keyOf(trail), limit),
  };
}
