import type { AuditEntry } from './audit-event.ts';
import type { OpenEntry } from './open-entries.ts';
import type { TrailLog } from './trail-log.ts';

/** A process that is killed loses the counts of this time, but never a first event. */
const COUNT_DELAY_MILLISECONDS = 1000;

/** Writes entries to their trails without delaying requests. */
export interface EntryWriter {
  /** Writes an open entry with its current count. A later version replaces it. */
  store(target: OpenEntry): Promise<void>;
  /** Writes the new count within a second, unless `forget` is called. */
  storeSoon(target: OpenEntry): void;
  forget(target: OpenEntry): void;
  /** Reports an entry as lost instead of writing it. */
  reportLost(target: OpenEntry, error: unknown): void;
  storeAlone(entry: AuditEntry): Promise<void>;
  /** Runs work that ends with a write. `flush` waits for it. */
  run(work: Promise<void>): void;
  flush(): Promise<void>;
}

export function createEntryWriter(dependencies: {
  readonly log: TrailLog;
  readonly onLost?: ((entries: readonly AuditEntry[], error: unknown) => void) | undefined;
}): EntryWriter {
  const { log, onLost } = dependencies;
  const changed = new Set<OpenEntry>();
  const running = new Set<Promise<void>>();
  let timer: NodeJS.Timeout | undefined;

  function run(work: Promise<void>): void {
    const ended = work.finally(() => running.delete(ended));
    running.add(ended);
  }

  async function append(entry: AuditEntry, former?: string): Promise<string | undefined> {
    try {
      return await log.append(entry, { replaces: former });
    } catch (error) {
      onLost?.([entry], error);
      return former;
    }
  }

  async function store(target: OpenEntry): Promise<void> {
    changed.delete(target);
    target.isBeingStored = true;
    target.line = await append(entryOf(target), target.line);
    target.isBeingStored = false;
  }

  function storeChanged(): void {
    clearTimeout(timer);
    timer = undefined;
    for (const target of changed) {
      if (!target.isBeingStored) {
        run(store(target));
      }
    }
    if (changed.size > 0) {
      schedule();
    }
  }

  function schedule(): void {
    timer ??= setTimeout(storeChanged, COUNT_DELAY_MILLISECONDS).unref();
  }

  return {
    run,
    store,
    storeSoon(target) {
      changed.add(target);
      schedule();
    },
    forget: (target) => changed.delete(target),
    reportLost(target, error) {
      changed.delete(target);
      onLost?.([entryOf(target)], error);
    },
    async storeAlone(entry) {
      await append(entry);
    },
    async flush() {
      while (running.size > 0 || changed.size > 0) {
        storeChanged();
        await Promise.all(running);
      }
      clearTimeout(timer);
      timer = undefined;
    },
  };
}

function entryOf({ first, count, lastAt }: OpenEntry): AuditEntry {
  return count === 1 ? first : { ...first, count, lastAt };
}
