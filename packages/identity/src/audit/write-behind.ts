import type { AuditEntry, AuditTrailName } from './audit-event.ts';

/** Daily business waits this long for company: far less than what an engine may lose when it is killed. */
const GATHERING_MILLISECONDS = 20;
const MAXIMUM_GATHERED = 32;

export interface WriteBehind {
  add(trail: AuditTrailName, entry: AuditEntry): void;
  flush(): Promise<void>;
}

/** Stores entries beside the request that made them: `activity` many at a time, everything else at once. */
export function createWriteBehind(dependencies: {
  readonly append: (trail: AuditTrailName, entries: readonly AuditEntry[]) => Promise<void>;
  readonly onLost?: ((entries: readonly AuditEntry[], error: unknown) => void) | undefined;
}): WriteBehind {
  const { append, onLost } = dependencies;
  const running = new Set<Promise<void>>();
  let gathered: AuditEntry[] = [];
  let timer: NodeJS.Timeout | undefined;

  function store(trail: AuditTrailName, entries: readonly AuditEntry[]): void {
    const stored = append(trail, entries)
      .catch((error: unknown) => onLost?.(entries, error))
      .finally(() => running.delete(stored));
    running.add(stored);
  }

  function storeGathered(): void {
    clearTimeout(timer);
    timer = undefined;
    const entries = gathered;
    gathered = [];
    if (entries.length > 0) {
      store('activity', entries);
    }
  }

  return {
    add(trail, entry) {
      if (trail !== 'activity') {
        store(trail, [entry]);
        return;
      }
      gathered.push(entry);
      if (gathered.length >= MAXIMUM_GATHERED) {
        storeGathered();
      } else {
        timer ??= setTimeout(storeGathered, GATHERING_MILLISECONDS).unref();
      }
    },
    async flush() {
      storeGathered();
      await Promise.all(running);
    },
  };
}
