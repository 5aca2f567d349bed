import type { AuditEntry } from './audit-event.ts';

const MAXIMUM_OPEN = 10_000;

/** An entry that still counts events. */
export interface OpenEntry {
  first: AuditEntry;
  /** Epoch milliseconds. */
  readonly closesAt: number;
  count: number;
  lastAt: string;
  /** The line in the store. The next version replaces it. */
  line: string | undefined;
  isBeingStored: boolean;
}

export interface OpenEntries {
  find(key: string): OpenEntry | undefined;
  /** Opens an entry with a count of 0. If too many are open, the oldest closes. */
  open(key: string, first: AuditEntry, lifetimeMilliseconds: number): OpenEntry;
  close(key: string): void;
}

export function createOpenEntries(now: () => number): OpenEntries {
  const byKey = new Map<string, OpenEntry>();
  return {
    find(key) {
      const found = byKey.get(key);
      return found !== undefined && found.closesAt > now() ? found : undefined;
    },
    open(key, first, lifetimeMilliseconds) {
      byKey.delete(key);
      for (const [oldest, { closesAt }] of byKey) {
        if (byKey.size < MAXIMUM_OPEN && closesAt > now()) {
          break;
        }
        byKey.delete(oldest);
      }
      const opened: OpenEntry = {
        first,
        closesAt: now() + lifetimeMilliseconds,
        count: 0,
        lastAt: first.at,
        line: undefined,
        isBeingStored: false,
      };
      byKey.set(key, opened);
      return opened;
    },
    close: (key) => byKey.delete(key),
  };
}
