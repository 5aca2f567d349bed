/**
 * The audit trail: append-only, limited in number and age, in the store that all processes share.
 *
 *   record (servers)   ─▶ aggregation, origin-share ─▶ entry-writer ─┐
 *   write  (operators) ──────────────────────────────────────────────┴▶ trail-log ─▶ read
 *
 * Not here: causing events, which the apps do. docs/decisions/25-audit-and-request-log.md explains why servers do
 * not wait.
 */
import { randomBytes } from 'node:crypto';
import type { Store } from '@gatehouse/store';
import { createAggregation } from './aggregation.ts';
import {
  type AuditEntry,
  type AuditEvent,
  type AuditOrigin,
  auditEvents,
  severityOf,
} from './audit-event.ts';
import { createEntryWriter } from './entry-writer.ts';
import { createOriginShare } from './origin-share.ts';
import { type AuditFilter, createTrailSearch } from './search-trails.ts';
import { createTrailLog } from './trail-log.ts';

/** The source of an event in a server. */
export interface RecordedOrigin extends AuditOrigin {
  /** The network that counts as one origin, such as an IPv6 /56. The address by default. */
  readonly addressGroup?: string | undefined;
}

export interface AuditTrail {
  /**
   * For servers. Returns immediately and never fails. `onLost` gets entries that are not stored.
   */
  record(event: AuditEvent, origin: RecordedOrigin): void;
  /**
   * For operators. Resolves when the entry is stored. Its severity is always `notice`.
   *
   * @throws StoreUnavailableError if the entry is not stored
   */
  write(event: AuditEvent, origin: AuditOrigin): Promise<void>;
  /** Newest first, by the last event of each entry. */
  read(filter: AuditFilter): Promise<readonly AuditEntry[]>;
  /** Resolves when all recorded entries are stored or lost. Await it before you close the store. */
  flush(): Promise<void>;
}

/** Called with entries that could not be stored, so that they can be logged. */
export type OnAuditLost = (entries: readonly AuditEntry[], error: unknown) => void;

export function createAuditTrail(dependencies: {
  readonly store: Store;
  readonly now: () => number;
  readonly retentionDays?: number | undefined;
  readonly onLost?: OnAuditLost | undefined;
  readonly onEvent?: ((event: AuditEvent) => void) | undefined;
}): AuditTrail {
  const { store, now, onLost, onEvent } = dependencies;
  const log = createTrailLog(store, dependencies.retentionDays);
  const mayOpen = createOriginShare({ store, log, now });
  const writer = createEntryWriter({ log, onLost });
  const aggregate = createAggregation({ writer, mayOpen, now });

  function entryOf(event: AuditEvent, origin: AuditOrigin, severity: AuditEntry['severity']) {
    const { outcome } = auditEvents[event.event];
    const id = randomBytes(9).toString('base64url');
    const at = new Date(now()).toISOString();
    return { id, at, ...event, severity, outcome, ...origin } satisfies AuditEntry;
  }

  return {
    record(event, { addressGroup, ...origin }) {
      onEvent?.(event);
      const entry = entryOf(event, origin, severityOf(event));
      if (auditEvents[event.event].isAggregated) {
        aggregate(entry, addressGroup ?? origin.address ?? '');
      } else {
        writer.run(writer.storeAlone(entry));
      }
    },
    // Operators can revoke while the store is full, and each revocation must be audited.
    async write(event, origin) {
      await log.append(entryOf(event, origin, 'notice'), { revokes: true });
    },
    read: createTrailSearch(log, now),
    flush: writer.flush,
  };
}
