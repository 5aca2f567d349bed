import type { StoreRoom } from './store.ts';

/** From this share on, a store is nearly full. */
export const NEARLY_FULL_SHARE = 0.8;

/** Between 0 and 1; 0 where the store has no limit. */
export function shareUsed({ usedBytes, maximumBytes }: StoreRoom): number {
  return maximumBytes === undefined || maximumBytes === 0 ? 0 : usedBytes / maximumBytes;
}

/** The one with the least room left. */
export function fullest(rooms: readonly StoreRoom[]): StoreRoom {
  return rooms.reduce((one, other) => (shareUsed(other) > shareUsed(one) ? other : one));
}

/** The same words each time: a reason that changes is reported again. */
export const nearlyFullReason =
  'More than 80 % of its room is used. Raise maxmemory (Redis) or free disk space (SQLite), or find what fills it.';
