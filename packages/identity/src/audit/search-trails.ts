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
  /** All severities if undefined. */
  readonly severities?: readonly AuditSeverity[] | undefined;
  readonly clientId?: string | undefined;
  readonly userId?: string | undefined;
  /** Of the first event of an entry. */
  readonly requestId?: string | undefined;
  /** ISO 8601 in UTC. Selects entries with an event at this time or later. */
  readonly since?: string | undefined;
  /** ISO 8601 in UTC. Selects entries with an event at this time or earlier. */
  readonly until?: string | undefined;
  readonly limit: number;
}

/** A search reads the newest lines first, then more, because most searches need only these. */
const readSizes = [256, 2048];
const DAY = 24 * 60 * 60 * 1000;

/** Finds the matching entries of all trails, newest first. */
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

/** Every event that an operator causes is a notice. */
function trailsOf({ event, severities }: AuditFilter): readonly AuditSeverity[] {
  const kind = Object.entries(auditEvents).find(([name]) => name === event)?.[1];
  return auditSeverities.filter(
    (severity) =>
      (severities === undefined || severities.includes(severity)) &&
      (kind === undefined || ['notice', kind.severity, kind.severityOfUnknown].includes(severity)),
  );
}

/** If the reply to a write was lost, an outdated line can remain in the store. */
function withoutEarlierVersions(entries: readonly AuditEntry[]): readonly AuditEntry[] {
  const newest = new Map<string, AuditEntry>();
  for (const entry of entries) {
    if (!newest.has(entry.id)) {
      newest.set(entry.id, entry);
    }
  }
  return [...newest.values()];
}

/** Accepts entries of later releases. A damaged line is skipped. */
const storedEntry = z.looseObject({
  id: z.string(),
  at: z.string(),
  event: z.string(),
  severity: z.string(),
  outcome: z.string(),
  lastAt: z.string().optional(),
});

function parseLine(line: string): AuditEntry | undefined {
  return parseRecord(storedEntry, line) as unknown as AuditEntry | undefined;
}

function matches(entry: AuditEntry, filter: AuditFilter & { readonly since: string }): boolean {
  return (
    (filter.event === undefined || entry.event === filter.event) &&
    (filter.clientId === undefined || entry.clientId === filter.clientId) &&
    (filter.userId === undefined || entry.userId === filter.userId) &&
    (filter.requestId === undefined || entry.requestId === filter.requestId) &&
    lastTimeOf(entry) >= filter.since &&
    (filter.until === undefined || entry.at <= filter.until)
  );
}
