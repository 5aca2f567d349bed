import { parseEntry, type RequestEntry } from './request-entry.ts';
import {
  REQUEST_RETENTION_DAYS,
  type RequestTrail,
  type RequestTrails,
  requestTrails,
} from './request-trails.ts';

export interface RequestFilter {
  readonly clientId?: string | undefined;
  readonly code?: string | undefined;
  readonly reason?: string | undefined;
  /** As in the entries. */
  readonly addressGroup?: string | undefined;
  /** Epoch milliseconds. */
  readonly since?: number | undefined;
  readonly limit: number;
}

export interface RequestSearch {
  /** Newest first. */
  read(filter: RequestFilter): Promise<readonly RequestEntry[]>;
  /** All entries with the id, oldest first. A caller can choose an id that was used before. */
  find(requestId: string): Promise<readonly RequestEntry[]>;
}

/** A search reads the newest lines first, then all, because most searches need only these. */
const FIRST_LINES = 512;
const DAY = 24 * 60 * 60 * 1000;

export function createRequestSearch(trails: RequestTrails, now: () => number): RequestSearch {
  const retained = () => now() - REQUEST_RETENTION_DAYS * DAY;

  async function searchTrail(
    trail: RequestTrail,
    filter: RequestFilter & { readonly since: number },
  ): Promise<readonly RequestEntry[]> {
    const newest = await trails.read(trail, FIRST_LINES);
    const found = matching(newest, filter);
    const oldest = parseEntry(newest.at(-1) ?? '');
    const isEnough = newest.length < FIRST_LINES || found.length >= filter.limit;
    return isEnough || (oldest !== undefined && oldest.at < filter.since)
      ? found
      : matching(await trails.read(trail), filter);
  }

  return {
    async read(filter) {
      const since = Math.max(filter.since ?? 0, retained());
      const found = await Promise.all(
        requestTrails.map((trail) => searchTrail(trail, { ...filter, since })),
      );
      return found
        .flat()
        .sort((a, b) => b.at - a.at)
        .slice(0, filter.limit);
    },
    async find(requestId) {
      const quoted = JSON.stringify(requestId);
      const lines = await Promise.all(requestTrails.map((trail) => trails.read(trail)));
      return lines
        .flat()
        .filter((line) => line.includes(quoted))
        .flatMap((line) => parseEntry(line) ?? [])
        .filter((entry) => entry.requestId === requestId && entry.at >= retained())
        .sort((a, b) => a.at - b.at);
    },
  };
}

function matching(
  lines: readonly string[],
  { clientId, code, reason, addressGroup, since }: RequestFilter & { readonly since: number },
): readonly RequestEntry[] {
  return lines
    .flatMap((line) => parseEntry(line) ?? [])
    .filter(
      (entry) =>
        entry.at >= since &&
        (clientId === undefined || entry.clientId === clientId) &&
        (code === undefined || entry.code === code) &&
        (reason === undefined || entry.reason === reason) &&
        (addressGroup === undefined || entry.addressGroup === addressGroup),
    );
}
