import { LRUCache } from 'lru-cache';
import type { AuditEntry, AuditSeverity } from './audit-event.ts';
import type { BoundedLog } from './bounded-log.ts';

export type AuditLog = BoundedLog<AuditSeverity>;

/** Called with entries that could not be stored, so that they can be logged. */
export type OnAuditLost = (entries: readonly AuditEntry[], error: unknown) => void;

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const MAXIMUM_OPEN = 10_000;
/** More tokens than an application revokes for one user within an hour. */
const MAXIMUM_TOKEN_IDS = 20;

/** An entry that still counts events. */
interface OpenEntry {
  first: AuditEntry;
  count: number;
  lastAt: string;
  /** The line in the store. The next version replaces it. */
  line: string | undefined;
  isBeingStored: boolean;
}

/**
 * Stores the first event of its kind and origin immediately. Further events within an hour increase
 * its count. An origin that exhausts its share with failures under varying names gets one entry a
 * day for each event, which counts them. Successes require a credential and are not limited.
 */
export function createAggregation(
  log: AuditLog,
  writer: ReturnType<typeof createEntryWriter>,
  now: () => number,
) {
  const entries = new LRUCache<string, OpenEntry>({
    max: MAXIMUM_OPEN,
    perf: { now },
    ttlResolution: 0,
  });

  function open(key: string, first: AuditEntry, ttl: number, count: number): OpenEntry {
    const isBeingStored = count > 0;
    const opened = { first, count, lastAt: first.at, line: undefined, isBeingStored };
    entries.set(key, opened, { ttl });
    return opened;
  }

  /** Waits until the share of the origin is known. Events in the meantime are counted. */
  async function storeFirst(key: string, opened: OpenEntry, origin: string): Promise<void> {
    const { severity, outcome } = opened.first;
    try {
      if (outcome === 'success' || (await log.takeShare(severity, origin, 1)) === 1) {
        return writer.store(opened);
      }
    } catch (error) {
      // An attacker who slows the store down must not be able to exceed the share.
      entries.delete(key);
      writer.lose(opened, error);
      return;
    }
    entries.delete(key);
    writer.forget(opened);
    const summary = summaryOf(opened.first);
    const summaryKey = keyOf(summary, origin);
    const target = entries.get(summaryKey) ?? open(summaryKey, summary, DAY, 0);
    writer.countSoon(target, opened.count, opened.lastAt);
  }

  return (entry: AuditEntry, origin: string): void => {
    const key = keyOf(entry, origin);
    const found = entries.get(key);
    if (found !== undefined) {
      const { first } = found;
      if (first.event === 'token_revoked' && entry.event === 'token_revoked') {
        // A client can revoke any number of tokens. The entry names the first ones.
        const tokenIds = [...first.tokenIds, ...entry.tokenIds].slice(0, MAXIMUM_TOKEN_IDS);
        found.first = { ...first, tokenIds };
      }
      writer.countSoon(found, 1, entry.at);
      return;
    }
    writer.run(storeFirst(key, open(key, entry, HOUR, 1), origin));
  };
}

/** Events with the same key share an entry. */
function keyOf(entry: AuditEntry, origin: string): string {
  const { id: _id, at: _at, requestId: _request, address: _address, ...kind } = entry;
  return JSON.stringify([origin, { ...kind, tokenIds: undefined }]);
}

/** Omits the members that an attacker can vary. */
function summaryOf(entry: AuditEntry): AuditEntry {
  const { id, at, event, severity, outcome, actor, address, requestId } = entry;
  const kept = { id, at, event, severity, outcome, actor, address, requestId, isSummary: true };
  return kept as AuditEntry;
}

/** A process that is killed loses the counts of this time, but never a first event. */
const COUNT_DELAY_MILLISECONDS = 1000;

/** Writes entries to their trails without delaying requests. */
export function createEntryWriter(log: AuditLog, onLost: OnAuditLost | undefined) {
  const changed = new Set<OpenEntry>();
  const running = new Set<Promise<void>>();
  let timer: NodeJS.Timeout | undefined;

  function run(work: Promise<void>): void {
    const ended = work.finally(() => running.delete(ended));
    running.add(ended);
  }

  async function append(entry: AuditEntry, former?: string): Promise<string | undefined> {
    const line = JSON.stringify(entry);
    try {
      await log.append(entry.severity, [line], { replaces: former });
      return line;
    } catch (error) {
      onLost?.([entry], error);
      return former;
    }
  }

  async function store(target: OpenEntry): Promise<void> {
    changed.delete(target);
    target.isBeingStored = true;
    target.line = await append(countedEntry(target), target.line);
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
      timer = setTimeout(storeChanged, COUNT_DELAY_MILLISECONDS).unref();
    }
  }

  return {
    /** Runs work that ends with a write. `flush` waits for it. */
    run,
    /** Writes an open entry with its current count. A later version replaces it. */
    store,
    storeAlone: async (entry: AuditEntry) => void (await append(entry)),
    /** Counts further events, and writes the new count within a second, unless `forget` is called. */
    countSoon(target: OpenEntry, events: number, lastAt: string): void {
      target.count += events;
      target.lastAt = lastAt;
      changed.add(target);
      timer ??= setTimeout(storeChanged, COUNT_DELAY_MILLISECONDS).unref();
    },
    forget: (target: OpenEntry) => changed.delete(target),
    lose(target: OpenEntry, error: unknown): void {
      changed.delete(target);
      onLost?.([countedEntry(target)], error);
    },
    async flush(): Promise<void> {
      while (running.size > 0 || changed.size > 0) {
        storeChanged();
        await Promise.all(running);
      }
      clearTimeout(timer);
      timer = undefined;
    },
  };
}

function countedEntry({ first, count, lastAt }: OpenEntry): AuditEntry {
  return count === 1 ? first : { ...first, count, lastAt };
}
