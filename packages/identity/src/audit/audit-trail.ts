/**
 * The audit trail: append-only, bounded by number and age, in the store that all processes share.
 *
 *   record (servers: never throws, never waits) ─▶ aggregation, origin-share ─▶ entry-writer ─┐
 *   write  (operators: throws when it was not stored) ────────────────────────────────────────┴▶ trail-log ─▶ read
 *
 * Deliberately not here: the decision that something happened (the apps), and keeping entries for longer than the
 * bounds: ship them elsewhere for that. Why servers do not wait: docs/decisions/0020-audit.md.
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

/** An origin as servers know it. */
export interface RecordedOrigin extends AuditOrigin {
  /** The network that counts as one origin, such as a /56 of IPv6. The address by default. */
  readonly addressGroup?: string | undefined;
}

export interface AuditTrail {
  /** For servers: the reply neither fails nor waits because of it. Entries that could not be stored go to `onLost`. */
  record(event: AuditEvent, origin: RecordedOrigin): void;
  /**
   * For operators: resolves when the entry is stored. Everything that an operator does is a `notice`.
   *
   * @throws StoreUnavailableError when it was not
   */
  write(event: AuditEvent, origin: AuditOrigin): Promise<void>;
  /** Newest first, by the last event that an entry counts. */
  read(filter: AuditFilter): Promise<readonly AuditEntry[]>;
  /** Resolves when everything recorded so far is stored or lost; to be awaited before the store is closed. */
  flush(): Promise<void>;
}

/** Called with entries that could not be stored: they belong in the log then. */
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
    // An operator revokes also while the store is full, and never without a trace.
    async write(event, origin) {
      await log.append(entryOf(event, origin, 'notice'), { revokes: true });
    },
    read: createTrailSearch(log, now),
    flush: writer.flush,
  };
}
