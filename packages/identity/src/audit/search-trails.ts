import { z } from 'zod';
import { parseRecord } from '../records/parse-record.ts';
import {
  type AuditEntry,
  type AuditSeverity,
  auditEvents,
  auditSeverities,
  lastTimeOf,
} from './audit-event.ts';
import type { TrailLog } from './trail-log.ts';

export interface AuditFilter {
  readonly event?: string | undefined;
  /** Entries of one of these; of all by default. */
  readonly severities?: readonly AuditSeverity[] | undefined;
  readonly clientId?: string | undefined;
  readonly userId?: string | undefined;
  /** ISO 8601, UTC: entries with an event then or later. */
  readonly since?: string | undefined;
  /** ISO 8601, UTC: entries with an event then or earlier. */
  readonly until?: string | undefined;
  readonly limit: number;
}

/** A trail is read in growing pieces: the newest entries are what is mostly asked for. */
const readSizes = [256, 2048];
const DAY = 24 * 60 * 60 * 1000;

/** Reads the newest entries of all trails that match, newest first. */
export function createTrailSearch(log: TrailLog, now: () => number) {
  return async (filter: AuditFilter): Promise<readonly AuditEntry[]> => {
    const retained = new Date(now() - log.retentionDays * DAY).toISOString();
    const since = filter.since !== undefined && filter.since > retained ? filter.since : retained;
    const found = await Promise.all(
      trailsOf(filter).map((severity) => searchTrail(severity, { ...filter, since })),
    );
    return found
      .flat()
      .sort((a, b) => (lastTimeOf(a) < lastTimeOf(b) ? 1 : lastTimeOf(a) > lastTimeOf(b) ? -1 : 0))
      .slice(0, filter.limit);
  };

  async function searchTrail(
    severity: AuditSeverity,
    filter: AuditFilter & { readonly since: string },
  ): Promise<readonly AuditEntry[]> {
    const capacity = log.capacity(severity);
    for (const size of [...readSizes, capacity]) {
      const lines = await log.read(severity, size);
      const entries = withoutEarlierVersions(lines.flatMap((line) => parseLine(line) ?? []));
      const matching = entries.filter((entry) => matches(entry, filter));
      const oldest = entries.at(-1);
      const isWhole = lines.length < size || size === capacity;
      const isPastSince = oldest !== undefined && lastTimeOf(oldest) < filter.since;
      if (isWhole || isPastSince || matching.length >= filter.limit) {
        return matching.slice(0, filter.limit);
      }
    }
    return [];
  }
}

/** An operator's event is a notice whatever its kind. */
function trailsOf({ event, severities }: AuditFilter): readonly AuditSeverity[] {
  const kind = Object.entries(auditEvents).find(([name]) => name === event)?.[1];
  return auditSeverities.filter(
    (severity) =>
      (severities === undefined || severities.includes(severity)) &&
      (kind === undefined || ['notice', kind.severity, kind.severityOfUnknown].includes(severity)),
  );
}

/** A write whose reply was lost may have left a line that no later version replaced. */
function withoutEarlierVersions(entries: readonly AuditEntry[]): readonly AuditEntry[] {
  const newest = new Map<string, AuditEntry>();
  for (const entry of entries) {
    if (!newest.has(entry.id)) {
      newest.set(entry.id, entry);
    }
  }
  return [...newest.values()];
}

/** Entries of a later version pass as they are; a damaged line is skipped, so that it hides nothing else. */
const storedEntry = z.looseObject({
  ...{ id: z.string(), at: z.string(), event: z.string() },
  ...{ severity: z.string(), outcome: z.string(), lastAt: z.string().optional() },
});

function parseLine(line: string): AuditEntry | undefined {
  return parseRecord(storedEntry, line) as unknown as AuditEntry | undefined;
}

function matches(entry: AuditEntry, filter: AuditFilter & { readonly since: string }): boolean {
  return (
    (filter.event === undefined || entry.event === filter.event) &&
    (filter.clientId === undefined || entry.clientId === filter.clientId) &&
    (filter.userId === undefined || entry.userId === filter.userId) &&
    lastTimeOf(entry) >= filter.since &&
    (filter.until === undefined || entry.at <= filter.until)
  );
}
