import type { Store } from '@gatehouse/store';
import { LRUCache } from 'lru-cache';
import type { AuditEntry } from './audit-event.ts';
import type { TrailLog } from './trail-log.ts';

const DAY_SECONDS = 24 * 60 * 60;
const SMALLEST_SHARE = 10;
const MAXIMUM_REMEMBERED = 10_000;

/** Whether the origin of a failure may open one more entry of its own today, for all processes together. */
export type OriginShare = (entry: AuditEntry, originGroup: string) => Promise<boolean>;

/**
 * An attacker who fails on purpose, each time with another name, must not use up a trail. Each address group gets so
 * many entries a day that it fills at most half of the trail within the retention. Further failures of that day are
 * counted in one entry for each event. A success needed a credential and is not limited.
 */
export function createOriginShare(dependencies: {
  readonly store: Pick<Store, 'increment'>;
  readonly log: TrailLog;
  readonly now: () => number;
}): OriginShare {
  const { store, log, now } = dependencies;
  /** Origins without a share left, and until when: their events cost the store no counter. */
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
