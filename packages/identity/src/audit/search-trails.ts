import type { Store } from '@gatehouse/store';
import { z } from 'zod';
import { parseRecord } from '../parse-record.ts';
import { type AuditEntry, type AuditTrailName, auditEvents } from './audit-event.ts';

export interface AuditFilter {
  readonly event?: string | undefined;
  readonly clientId?: string | undefined;
  readonly userId?: string | undefined;
  /** ISO 8601, UTC: entries of then or later. */
  readonly since?: string | undefined;
  readonly limit: number;
}

/** Log lines a trail; a line of `activity` or `signatures` holds up to 32 entries. */
export const TRAIL_CAPACITY = 10_000;
export const trailKey = (trail: AuditTrailName): string => `audit:${trail}`;

/** A trail is read in growing pieces: the newest entries are what is mostly asked for. */
const readSizes = [256, 2048, TRAIL_CAPACITY];

/** The newest entries of all trails that match, newest first. */
export async function searchTrails(
  store: Store,
  filter: AuditFilter,
): Promise<readonly AuditEntry[]> {
  const trails = new Set(
    Object.entries(auditEvents)
      .filter(([name]) => filter.event === undefined || filter.event === name)
      .map(([, { trail }]) => trail),
  );
  const found = await Promise.all([...trails].map((trail) => searchTrail(store, trail, filter)));
  return found
    .flat()
    .sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))
    .slice(0, filter.limit);
}

async function searchTrail(
  store: Store,
  trail: AuditTrailName,
  filter: AuditFilter,
): Promise<readonly AuditEntry[]> {
  for (const size of readSizes) {
    const lines = await store.read(trailKey(trail), size);
    const entries = lines.flatMap((line) => parseLine(line).toReversed());
    const matching = entries.filter((entry) => matches(entry, filter));
    const oldest = entries.at(-1)?.at ?? '';
    const isWhole = lines.length < size || size === TRAIL_CAPACITY;
    const isPastSince = filter.since !== undefined && oldest < filter.since;
    if (isWhole || isPastSince || matching.length >= filter.limit) {
      return matching.slice(0, filter.limit);
    }
  }
  return [];
}

/** Entries of a later version pass as they are; a damaged line is skipped, so that it hides nothing else. */
const storedEntries = z.array(
  z.looseObject({ id: z.string(), at: z.string(), event: z.string(), outcome: z.string() }),
);

function parseLine(line: string): readonly AuditEntry[] {
  return (parseRecord(storedEntries, line) ?? []) as unknown as readonly AuditEntry[];
}

function matches(entry: AuditEntry, filter: AuditFilter): boolean {
  return (
    (filter.event === undefined || entry.event === filter.event) &&
    (filter.clientId === undefined || entry.clientId === filter.clientId) &&
    (filter.userId === undefined || entry.userId === filter.userId) &&
    (filter.since === undefined || entry.at >= filter.since)
  );
}
