import type { AuditEntry, AuditTrailName } from './audit-event.ts';

/** What may come by the thousand waits this long for company: far less than what an engine may lose when it is killed. */
const GATHERING_MILLISECONDS = 20;
const MAXIMUM_GATHERED = 32;

export interface WriteBehind {
  add(trail: AuditTrailName, entry: AuditEntry): void;
  flush(): Promise<void>;
}

/** A single request can cause one of these, and a busy client or a stranger thousands a second. */
const gatheredTrails: ReadonlySet<AuditTrailName> = new Set(['activity', 'signatures']);

/** Stores entries beside the request that made them: those of some trails many at a time, everything else at once. */
export function createWriteBehind(dependencies: {
  readonly append: (trail: AuditTrailName, entries: readonly AuditEntry[]) => Promise<void>;
  readonly onLost?: ((entries: readonly AuditEntry[], error: unknown) => void) | undefined;
}): WriteBehind {
  const { append, onLost } = dependencies;
  const running = new Set<Promise<void>>();
  const gathered = new Map<AuditTrailName, AuditEntry[]>();
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
    for (const [trail, entries] of gathered) {
      store(trail, entries);
    }
    gathered.clear();
  }

  return {
    add(trail, entry) {
      if (!gatheredTrails.has(trail)) {
        store(trail, [entry]);
        return;
      }
      const entries = gathered.get(trail);
      if (entries === undefined) {
        gathered.set(trail, [entry]);
      } else if (entries.push(entry) >= MAXIMUM_GATHERED) {
        storeGathered();
        return;
      }
      timer ??= setTimeout(storeGathered, GATHERING_MILLISECONDS).unref();
    },
    async flush() {
      storeGathered();
      await Promise.all(running);
    },
  };
}
