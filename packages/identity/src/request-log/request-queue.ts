import type { RequestEntry } from './request-entry.ts';
import type { SharedTrail } from './request-trails.ts';

/** Limits of the memory, and of the writes of one flush. */
const capacities: Readonly<Record<SharedTrail, number>> = { client: 128, caller: 96, success: 32 };
/** One owner cannot fill the queue of the others. */
const OWNER_CAPACITY = 32;

/** The entries of one client or address group that wait to be stored, oldest first. */
export interface QueuedEntries {
  readonly trail: SharedTrail;
  readonly owner: string;
  readonly entries: readonly RequestEntry[];
}

export interface RequestQueue {
  /** Returns false if the queue has no room. */
  add(entry: RequestEntry): boolean;
  readonly isEmpty: boolean;
  /** Empties the queue. */
  take(): readonly QueuedEntries[];
}

export function createRequestQueue(): RequestQueue {
  let byOwner = new Map<string, QueuedEntries & { readonly entries: RequestEntry[] }>();
  let sizes: Record<SharedTrail, number> = { client: 0, caller: 0, success: 0 };
  return {
    add(entry) {
      const trail = trailOf(entry);
      const owner =
        entry.verified && entry.clientId !== undefined ? entry.clientId : entry.addressGroup;
      const key = `${trail} ${owner}`;
      const entries = byOwner.get(key)?.entries ?? [];
      if (sizes[trail] >= capacities[trail] || entries.length >= OWNER_CAPACITY) {
        return false;
      }
      entries.push(entry);
      sizes[trail] += 1;
      byOwner.set(key, { trail, owner, entries });
      return true;
    },
    get isEmpty() {
      return byOwner.size === 0;
    },
    take() {
      const taken = [...byOwner.values()];
      byOwner = new Map();
      sizes = { client: 0, caller: 0, success: 0 };
      return taken;
    },
  };
}

/** A client owns only what it proved to be its own. Otherwise an attacker could use up its share. */
function trailOf({ reason, verified, clientId }: RequestEntry): SharedTrail {
  if (reason === undefined) {
    return 'success';
  }
  return verified && clientId !== undefined ? 'client' : 'caller';
}
