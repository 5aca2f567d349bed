import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AuditEntry,
  type AuditFilter,
  type Identity,
  lastTimeOf,
  MAXIMUM_AUDIT_ENTRIES,
} from '@gatehouse/identity';
import { StoreUnavailableError } from '@gatehouse/store';

const FOLLOW_MILLISECONDS = 1000;
/** Processes may write entries out of order, and their clocks may differ by this much. */
const OVERLAP_MILLISECONDS = 5 * 60 * 1000;

/** An entry that counts more events than before is a new version. */
export const versionOf = ({ id, count = 1 }: AuditEntry): string => `${id} ${count}`;

/**
 * Reads the trail every second. An unavailable store is read again later.
 *
 * @param known entries that the caller already has
 * @yields new entries and new versions, oldest first
 */
export async function* followTrail(
  { audit }: Identity,
  filter: Omit<AuditFilter, 'limit'>,
  known: readonly AuditEntry[],
  warn: (message: string) => void,
): AsyncGenerator<readonly AuditEntry[], never> {
  let newest = newestTime(known) ?? filter.since ?? new Date().toISOString();
  let seen = new Set(known.map(versionOf));
  let isAvailable = true;
  for (;;) {
    await sleep(FOLLOW_MILLISECONDS);
    try {
      const since = startOfOverlap(newest, filter.since);
      const found = await audit.read({ ...filter, since, limit: MAXIMUM_AUDIT_ENTRIES });
      const added = found.toReversed().filter((entry) => !seen.has(versionOf(entry)));
      newest = newestTime(found) ?? newest;
      seen = new Set(found.map(versionOf));
      isAvailable = true;
      if (added.length > 0) {
        yield added;
      }
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) {
        throw error;
      }
      if (isAvailable) {
        warn('The store is unavailable. New entries follow when it is available again.');
      }
      isAvailable = false;
    }
  }
}

/**
 * The time from which to read again, so that no late entry is missed. Entries of a process whose
 * clock is ahead must not hide those of the others.
 */
export function startOfOverlap(newest: string, since = ''): string {
  const time = Math.min(Date.parse(newest), Date.now());
  const start = new Date(time - OVERLAP_MILLISECONDS).toISOString();
  return since > start ? since : start;
}

function newestTime(entries: readonly AuditEntry[]): string | undefined {
  return entries.map(lastTimeOf).sort().at(-1);
}
