/**
 * The audit trail: append-only, capped, in the store that everybody shares.
 *
 *   record (servers: never throws, never waits) ─▶ write-behind ─┐
 *   write  (operators: throws when it was not stored) ───────────┴▶ one log a trail ─▶ read (newest first, filtered)
 *
 * Deliberately not here: who decides that something happened (the apps), and keeping entries for longer than
 * the cap: ship them elsewhere for that. Why servers do not wait: docs/decisions/0020-audit.md.
 */
import { randomBytes } from 'node:crypto';
import type { Store, WriteOptions } from '@gatehouse/store';
import {
  type AuditEntry,
  type AuditEvent,
  type AuditOrigin,
  type AuditTrailName,
  auditEvents,
} from './audit-event.ts';
import { type AuditFilter, searchTrails, TRAIL_CAPACITY, trailKey } from './search-trails.ts';
import { createWriteBehind } from './write-behind.ts';

export interface AuditTrail {
  /** For servers: the reply neither fails nor waits because of it. What could not be stored is handed to `onLost`. */
  record(event: AuditEvent, origin: AuditOrigin): void;
  /**
   * For operators: resolves when the entry is stored.
   *
   * @throws StoreUnavailable when it was not
   */
  write(event: AuditEvent, origin: AuditOrigin): Promise<void>;
  /** Newest first. */
  read(filter: AuditFilter): Promise<readonly AuditEntry[]>;
  /** Resolves when everything recorded so far is stored or lost; to be awaited before the store is closed. */
  flush(): Promise<void>;
}

/** Called with entries that could not be stored: they belong in the log then. */
export type OnAuditLost = (entries: readonly AuditEntry[], error: unknown) => void;

export function createAuditTrail(dependencies: {
  readonly store: Store;
  readonly now: () => number;
  readonly onLost?: OnAuditLost | undefined;
  readonly onEvent?: ((event: AuditEvent) => void) | undefined;
}): AuditTrail {
  const { store, now, onLost, onEvent } = dependencies;
  const append = (
    trail: AuditTrailName,
    entries: readonly AuditEntry[],
    options: WriteOptions = {},
  ) => store.append(trailKey(trail), JSON.stringify(entries), TRAIL_CAPACITY, options);
  const writeBehind = createWriteBehind({ append, onLost });

  function entryOf(event: AuditEvent, origin: AuditOrigin): AuditEntry {
    const { outcome } = auditEvents[event.event];
    const id = randomBytes(9).toString('base64url');
    return { id, at: new Date(now()).toISOString(), ...event, outcome, ...origin };
  }

  return {
    record(event, origin) {
      onEvent?.(event);
      writeBehind.add(auditEvents[event.event].trail, entryOf(event, origin));
    },
    // An operator revokes also while the store is full, and never without a trace.
    write: (event, origin) =>
      append(auditEvents[event.event].trail, [entryOf(event, origin)], { revokes: true }),
    read: (filter) => searchTrails(store, filter),
    flush: writeBehind.flush,
  };
}
