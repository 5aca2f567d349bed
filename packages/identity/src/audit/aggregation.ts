import type { AuditEntry } from './audit-event.ts';
import type { EntryWriter } from './entry-writer.ts';
import { createOpenEntries, type OpenEntry } from './open-entries.ts';
import type { OriginShare } from './origin-share.ts';

/** More tokens than an application revokes for one user within an hour. */
const MAXIMUM_TOKEN_IDS = 20;
const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;

/**
 * Stores the first event of its kind and origin immediately. Further events within an hour increase
 * its count.
 */
export type AddToAggregation = (entry: AuditEntry, originGroup: string) => void;

export function createAggregation(dependencies: {
  readonly writer: EntryWriter;
  readonly mayOpen: OriginShare;
  readonly now: () => number;
}): AddToAggregation {
  const { writer, mayOpen, now } = dependencies;
  const entries = createOpenEntries(now);

  function count(target: OpenEntry, events: number, lastAt: string): void {
    target.count += events;
    target.lastAt = lastAt;
    writer.storeSoon(target);
  }

  /**
   * Waits until the share of the origin is known. Events that arrive in the meantime are counted.
   */
  async function storeFirst(key: string, opened: OpenEntry, originGroup: string): Promise<void> {
    let isAllowed: boolean;
    try {
      isAllowed = await mayOpen(opened.first, originGroup);
    } catch (error) {
      // An attacker who slows the store down must not be able to exceed the share.
      entries.close(key);
      writer.reportLost(opened, error);
      return;
    }
    if (isAllowed) {
      return writer.store(opened);
    }
    entries.close(key);
    writer.forget(opened);
    const summary = summaryOf(opened.first);
    const summaryKey = keyOf(summary, originGroup);
    const target = entries.find(summaryKey) ?? entries.open(summaryKey, summary, DAY);
    count(target, opened.count, opened.lastAt);
  }

  return (entry, originGroup) => {
    const key = keyOf(entry, originGroup);
    const found = entries.find(key);
    if (found !== undefined) {
      found.first = withTokenIds(found.first, entry);
      count(found, 1, entry.at);
      return;
    }
    const opened = entries.open(key, entry, HOUR);
    opened.count = 1;
    opened.isBeingStored = true;
    writer.run(storeFirst(key, opened, originGroup));
  };
}

/** Events with the same key share an entry. */
function keyOf(entry: AuditEntry, originGroup: string): string {
  const { id: _id, at: _at, requestId: _request, address: _address, ...kind } = entry;
  return JSON.stringify([originGroup, { ...kind, tokenIds: undefined }]);
}

/** A client can revoke any number of tokens. The entry names the first ones. */
function withTokenIds(first: AuditEntry, added: AuditEntry): AuditEntry {
  return first.event === 'token_revoked' && added.event === 'token_revoked'
    ? { ...first, tokenIds: [...first.tokenIds, ...added.tokenIds].slice(0, MAXIMUM_TOKEN_IDS) }
    : first;
}

/** Omits the members that an attacker can vary. */
function summaryOf(entry: AuditEntry): AuditEntry {
  const { id, at, event, severity, outcome, actor, address, requestId } = entry;
  const kept = { id, at, event, severity, outcome, actor, address, requestId, isSummary: true };
  return kept as AuditEntry;
}
