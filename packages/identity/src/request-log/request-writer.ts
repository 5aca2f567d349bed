import type { RequestEntry } from './request-entry.ts';
import { OWNER_OVERFLOW, type QueuedEntries } from './request-queue.ts';
import type { RequestShares } from './request-shares.ts';
import type { RequestTrail, RequestTrails, SharedTrail } from './request-trails.ts';

/** What happened to an entry. Only `stored` entries can be found. */
export const requestLogResults = ['stored', 'over_quota', 'queue_full', 'unavailable'] as const;

export type RequestLogResult = (typeof requestLogResults)[number];

/** Of all owners, in one flush. */
const TOTAL_OVERFLOW = 32;

type Batches = Map<RequestTrail, RequestEntry[]>;

/** Writes queued entries: those within the share of their owner, and the newest of the others. */
export function createRequestWriter(dependencies: {
  readonly trails: RequestTrails;
  readonly shares: RequestShares;
  readonly count: (result: RequestLogResult, entries: number) => void;
}): (queued: readonly QueuedEntries[]) => Promise<void> {
  const { trails, shares, count } = dependencies;

  async function divide({ trail, owner, entries }: QueuedEntries, batches: Batches) {
    let allowed: number;
    try {
      allowed = await shares.take(trail, owner, entries.length);
    } catch {
      // An attacker who slows the store down must not be able to exceed the share.
      count('unavailable', entries.length);
      return;
    }
    add(batches, trail, entries.slice(0, allowed));
    const beyond = entries.slice(allowed);
    const overflow = overflowOf(trail);
    const room = overflow && TOTAL_OVERFLOW - (batches.get(overflow)?.length ?? 0);
    const kept = Math.min(beyond.length, OWNER_OVERFLOW, room ?? 0);
    if (overflow !== undefined && kept > 0) {
      add(batches, overflow, beyond.slice(-kept));
    }
    count('over_quota', beyond.length - kept);
  }

  async function append(trail: RequestTrail, entries: readonly RequestEntry[]): Promise<void> {
    try {
      await trails.append(trail, entries);
      count('stored', entries.length);
    } catch {
      count('unavailable', entries.length);
    }
  }

  return async (queued) => {
    const batches: Batches = new Map();
    await Promise.all(queued.map((each) => divide(each, batches)));
    await Promise.all(
      [...batches].map(([trail, entries]) =>
        append(
          trail,
          entries.sort((a, b) => a.at - b.at),
        ),
      ),
    );
  };
}

function overflowOf(trail: SharedTrail): RequestTrail | undefined {
  return trail === 'success' ? undefined : `${trail}-overflow`;
}

function add(batches: Batches, trail: RequestTrail, entries: readonly RequestEntry[]): void {
  if (entries.length > 0) {
    batches.set(trail, [...(batches.get(trail) ?? []), ...entries]);
  }
}
