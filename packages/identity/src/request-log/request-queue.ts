import type { RequestEntry } from './request-entry.ts';
import type { SharedTrail } from './request-trails.ts';

type Lane = SharedTrail | 'overflow';

/** Limits of the memory, and of the writes of one flush. */
const capacities: Readonly<Record<Lane, number>> = {
  client: 128,
  caller: 192,
  success: 32,
  overflow: 32,
};
/** Of one client or address group. */
const OWNER_CAPACITY = 32;
/** Of an owner whose share is used up. */
export const OWNER_OVERFLOW = 4;

/** The entries of one client or address group that wait to be stored, oldest first. */
export interface QueuedEntries {
  readonly trail: SharedTrail;
  readonly owner: string;
  readonly entries: readonly RequestEntry[];
}

interface Queued extends QueuedEntries {
  readonly entries: RequestEntry[];
}

export interface RequestQueue {
  /** Returns the number of entries that the queue had no room for: 0 or 1. */
  add(entry: RequestEntry): number;
  readonly isEmpty: boolean;
  /** Empties the queue. */
  take(): readonly QueuedEntries[];
}

/**
 * Bounds what waits for a flush. An owner whose share is used up gets only a small lane of its own,
 * so that a flood leaves room for everyone else.
 *
 * @param isUsedUp whether the share of an owner is known to be used up
 */
export function createRequestQueue(
  isUsedUp: (trail: SharedTrail, owner: string) => boolean,
): RequestQueue {
  const lanes: Readonly<Record<Lane, Map<string, Queued>>> = {
    client: new Map(),
    caller: new Map(),
    success: new Map(),
    overflow: new Map(),
  };
  const sizes: Record<Lane, number> = { client: 0, caller: 0, success: 0, overflow: 0 };

  /** Makes room for the first entry of an owner: the greediest owner loses its oldest entry. */
  function displace(lane: Lane): boolean {
    let greediest: Queued | undefined;
    for (const queued of lanes[lane].values()) {
      if (queued.entries.length > (greediest?.entries.length ?? 1)) {
        greediest = queued;
      }
    }
    return greediest?.entries.shift() !== undefined;
  }

  return {
    add(entry) {
      const trail = trailOf(entry);
      const owner = ownerOf(entry);
      const isOverflow = isUsedUp(trail, owner);
      if (isOverflow && trail === 'success') {
        return 1;
      }
      const lane = isOverflow ? 'overflow' : trail;
      const key = `${trail} ${owner}`;
      const queued = lanes[lane].get(key);
      const limit = lane === 'overflow' ? OWNER_OVERFLOW : OWNER_CAPACITY;
      if (queued !== undefined && queued.entries.length >= limit) {
        // Of the entries beyond a share, the newest are the useful ones.
        if (isOverflow) {
          queued.entries.shift();
          queued.entries.push(entry);
        }
        return 1;
      }
      const isFull = sizes[lane] >= capacities[lane];
      if (isFull && (queued !== undefined || !displace(lane))) {
        return 1;
      }
      if (queued === undefined) {
        lanes[lane].set(key, { trail, owner, entries: [entry] });
      } else {
        queued.entries.push(entry);
      }
      sizes[lane] += isFull ? 0 : 1;
      return isFull ? 1 : 0;
    },
    get isEmpty() {
      return Object.values(sizes).every((size) => size === 0);
    },
    take() {
      const taken = Object.values(lanes).flatMap((lane) => [...lane.values()]);
      for (const lane of Object.keys(lanes) as Lane[]) {
        lanes[lane].clear();
        sizes[lane] = 0;
      }
      return taken;
    },
  };
}

/**
 * A client owns only what it proved to be its own. Otherwise an attacker could use up its share.
 */
function trailOf({ reason, verified, clientId }: RequestEntry): SharedTrail {
  if (reason === undefined) {
    return 'success';
  }
  return verified && clientId !== undefined ? 'client' : 'caller';
}

function ownerOf({ verified, clientId, addressGroup }: RequestEntry): string {
  return verified && clientId !== undefined ? clientId : addressGroup;
}
