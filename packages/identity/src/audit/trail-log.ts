import type { AppendOptions, Store } from '@gatehouse/store';
import type { AuditEntry, AuditSeverity } from './audit-event.ts';

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

/** The stored trails. An entry is one line. Lines are ordered by their last event. */
export interface TrailLog {
  readonly retentionDays: number;
  capacity(severity: AuditSeverity): number;
  /** @returns the line, which is the `replaces` of a later version of the entry */
  append(entry: AuditEntry, options?: Pick<AppendOptions, 'replaces' | 'revokes'>): Promise<string>;
  /** The newest lines, newest first. */
  read(severity: AuditSeverity, limit: number): Promise<readonly string[]>;
}

export function createTrailLog(
  store: Pick<Store, 'append' | 'read'>,
  retentionDays: number = DEFAULT_AUDIT_RETENTION_DAYS,
): TrailLog {
  const keyOf = (severity: AuditSeverity) => `audit-trail:${severity}`;
  return {
    retentionDays,
    capacity: (severity) => capacities[severity],
    async append(entry, options) {
      const line = JSON.stringify(entry);
      await store.append(keyOf(entry.severity), [line], capacities[entry.severity], {
        ...options,
        maximumAgeSeconds: retentionDays * DAY_SECONDS,
      });
      return line;
    },
    read: (severity, limit) => store.read(keyOf(severity), limit),
  };
}
