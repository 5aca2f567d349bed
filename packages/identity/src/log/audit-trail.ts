/**
 * The audit trail: append-only, limited in number and age, in the store that all processes share.
 *
 *   record (servers)   ─▶ counted-entries ─┐
 *   write  (operators) ────────────────────┴▶ bounded-log ─▶ read
 *
 * Not here: causing events, which the apps do. docs/decisions/25-audit-and-request-log.md explains
 * why servers do not wait.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { parseRecord } from '../records/record.ts';
import {
  type AuditEntry,
  type AuditEvent,
  type AuditOrigin,
  type AuditSeverity,
  auditEvents,
  auditSeverities,
  lastTimeOf,
  severityOf,
} from './audit-event.ts';
import { createBoundedLog, hasMembers, type LogDependencies } from './bounded-log.ts';
import {
  type AuditLog,
  createAggregation,
  createEntryWriter,
  type OnAuditLost,
} from './counted-entries.ts';

/** Maximum number of entries. An entry has about 400 bytes, so all trails need less than 30 MB. */
const capacities: Readonly<Record<AuditSeverity, number>> = {
  alert: 10_000,
  warning: 20_000,
  notice: 10_000,
  info: 20_000,
  noise: 5_000,
};

/** More than all trails together can hold. */
export const MAXIMUM_AUDIT_ENTRIES = 100_000;
export const DEFAULT_AUDIT_RETENTION_DAYS = 90;
const DAY_SECONDS = 24 * 60 * 60;

/** The source of an event in a server. */
export interface RecordedOrigin extends AuditOrigin {
  /** The network that counts as one origin, such as an IPv6 /56. The address by default. */
  readonly addressGroup?: string | undefined;
}

/** Members of the entries that a search can select. The request is that of the first event. */
const filterNames = ['event', 'clientId', 'userId', 'organizationId', 'requestId'] as const;

export interface AuditFilter
  extends Readonly<Partial<Record<(typeof filterNames)[number], string | undefined>>> {
  /** All severities if undefined. */
  readonly severities?: readonly AuditSeverity[] | undefined;
  /** ISO 8601 in UTC. Selects entries with an event at this time or later. */
  readonly since?: string | undefined;
  /** ISO 8601 in UTC. Selects entries with an event at this time or earlier. */
  readonly until?: string | undefined;
  /** Epoch milliseconds. Selects entries whose last event is at this time or earlier. */
  readonly lastUntil?: number | undefined;
  readonly limit: number;
}

export function createAuditTrail(
  dependencies: LogDependencies & {
    readonly retentionDays?: number | undefined;
    readonly onLost?: OnAuditLost | undefined;
    readonly onEvent?: ((event: AuditEvent) => void) | undefined;
  },
) {
  const { now, onEvent, retentionDays = DEFAULT_AUDIT_RETENTION_DAYS } = dependencies;
  const log = createBoundedLog<AuditSeverity>(
    { name: 'audit-trail', capacities, retentionDays, shareSeconds: DAY_SECONDS },
    dependencies,
  );
  const writer = createEntryWriter(log, dependencies.onLost);
  const aggregate = createAggregation(log, writer, now);

  function entryOf(event: AuditEvent, origin: AuditOrigin, severity: AuditSeverity) {
    const { outcome } = auditEvents[event.event];
    const id = randomBytes(9).toString('base64url');
    const at = new Date(now()).toISOString();
    return { id, at, ...event, severity, outcome, ...origin } satisfies AuditEntry;
  }

  return {
    /**
     * For servers. Returns immediately and never fails. `onLost` gets entries that are not stored.
     */
    record(event: AuditEvent, { addressGroup, ...origin }: RecordedOrigin): void {
      onEvent?.(event);
      const entry = entryOf(event, origin, severityOf(event));
      if (auditEvents[event.event].isAggregated) {
        aggregate(entry, addressGroup ?? origin.address ?? '');
      } else {
        writer.run(writer.storeAlone(entry));
      }
    },
    /**
     * For operators. Resolves when the entry is stored. Its severity is always `notice`. Operators
     * can revoke while the store is full, and each revocation must be audited.
     *
     * @throws StoreUnavailableError if the entry is not stored
     */
    write: (event: AuditEvent, origin: AuditOrigin): Promise<void> =>
      log.append('notice', [JSON.stringify(entryOf(event, origin, 'notice'))], { revokes: true }),
    /** Newest first, by the last event of each entry. */
    read: (filter: AuditFilter) => readEntries(log, filter),
    /** Resolves when all recorded entries are stored or lost. Await it before you close the store. */
    flush: writer.flush,
  };
}

function readEntries(log: AuditLog, filter: AuditFilter): Promise<readonly AuditEntry[]> {
  return log.search(trailsOf(filter), {
    parse: parseEntries,
    timeOf: (entry) => Date.parse(lastTimeOf(entry)),
    matches: (entry) =>
      hasMembers(entry, filter, filterNames) &&
      (filter.until === undefined || entry.at <= filter.until),
    since: filter.since === undefined ? 0 : Date.parse(filter.since),
    until: filter.lastUntil,
    limit: filter.limit,
  });
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

/** Accepts entries of later releases. A damaged line is skipped. */
const storedEntry = z.looseObject({
  id: z.string(),
  at: z.iso.datetime(),
  event: z.string(),
  severity: z.string(),
  outcome: z.string(),
  lastAt: z.iso.datetime().optional(),
});

/** If the reply to a write was lost, an outdated line of an entry can remain in the store. */
function parseEntries(lines: readonly string[]): readonly AuditEntry[] {
  const newest = new Map<string, AuditEntry>();
  for (const line of lines) {
    const entry = parseRecord(storedEntry, line);
    if (entry !== undefined && !newest.has(entry.id)) {
      newest.set(entry.id, entry as unknown as AuditEntry);
    }
  }
  return [...newest.values()];
}
