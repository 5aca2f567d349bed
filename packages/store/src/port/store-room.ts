import type { StoreRoom } from './store.ts';

/** A store that uses at least this share of its space is nearly full. */
export const NEARLY_FULL_SHARE = 0.8;

/** Between 0 and 1. It is 0 if the store has no limit. */
export function shareUsed({ usedBytes, maximumBytes }: StoreRoom): number {
  return maximumBytes === undefined || maximumBytes === 0 ? 0 : usedBytes / maximumBytes;
}

/** Returns the room with the largest used share. */
export function fullest(rooms: readonly StoreRoom[]): StoreRoom {
  return rooms.reduce((one, other) => (shareUsed(other) > shareUsed(one) ? other : one));
}

/** The text contains no figures, because a reason that changes is reported again. */
export const nearlyFullReason =
  'More than 80 % of its space is used. Raise maxmemory (Redis), free disk space (SQLite), or find ' +
  'the cause.';
