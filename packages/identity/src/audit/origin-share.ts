import type { Store } from '@gatehouse/store';
import { LRUCache } from 'lru-cache';
import type { AuditEntry } from './audit-event.ts';
import type { TrailLog } from './trail-log.ts';

const DAY_SECONDS = 24 * 60 * 60;
const SMALLEST_SHARE = 10;
const MAXIMUM_REMEMBERED = 10_000;

/** Whether the origin may open one more entry today. All processes share the limit. */
export type OriginShare = (entry: AuditEntry, originGroup: string) => Promise<boolean>;

/**
 * Prevents an attacker from filling a trail with failures under varying names. The daily share of
 * an address group fills at most half of the trail within the retention time. After that, one entry
 * per event counts its failures. Successes require a credential and are not limited.
 */
export function createOriginShare(dependencies: {
  readonly store: Pick<Store, 'increment'>;
  readonly log: TrailLog;
  readonly now: () => number;
}): OriginShare {
  const { store, log, now } = dependencies;
  /**
   * When the share of an exhausted origin resets. Until then, its events cost no store operation.
   */
  const usedUp = new LRUCache<string, number>({ max: MAXIMUM_REMEMBERED });

  return async ({ severity, outcome }, originGroup) => {
    if (outcome === 'success') {
      return true;
    }
    const key = `audit-share:${severity}:${originGroup}`;
    if ((usedUp.get(key) ?? 0) > now()) {
      return false;
    }
    const share = Math.floor(log.capacity(severity) / 2 / log.retentionDays);
    const { count, resetsAt } = await store.increment(key, DAY_SECONDS);
    if (count <= Math.max(SMALLEST_SHARE, share)) {
      return true;
    }
    usedUp.set(key, resetsAt);
    return false;
  };
}
