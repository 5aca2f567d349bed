import { createRateLimiter, type Verdict } from './rate-limiter.ts';
import type { Store, StoreRoom } from './store.ts';

/** A client, or one of its users, and the organization that answers for it. */
interface BudgetParty {
  readonly clientId: string;
  readonly orgId: string;
}

const ROOM_MILLISECONDS = 1000;
/**
 * What no budget includes. Redis also counts the buffers of its connections, so a store that is
 * almost full refuses writes from time to time.
 */
const RESERVED_SHARE = 1 / 16;
const MAXIMUM_RESERVED_BYTES = 256 * 1024 * 1024;
/** The budget of an organization, as a multiple of that of a client. */
const ORGANIZATION_FACTOR = 2;

/**
 * Limits the memory that one client, or one organization, can fill. Within a window, a client may
 * write as many bytes as are free in the store, and an organization twice as many. The more of the
 * store is used, the smaller the budget, so no number of clients can fill it: in a window, a client
 * fills about half of the free space, and an organization two thirds. A store without a limit has no
 * budgets, and a sixteenth of any other store stays free, or 256 MiB.
 *
 * @param name identifies the kind of record
 * @param record.bytes what one record costs the store
 * @param record.windowSeconds the longest lifetime of a record, or less if the records of legitimate
 *   clients add up
 */
export function createStoreBudget(
  name: string,
  record: { readonly bytes: number; readonly windowSeconds: number },
  dependencies: { readonly store: Store; readonly now: () => number },
) {
  const { store, now } = dependencies;
  let room: StoreRoom | undefined;
  let readAt = Number.NEGATIVE_INFINITY;

  const own = { windowSeconds: record.windowSeconds, requests: Number.POSITIVE_INFINITY };
  const shared = { ...own };
  const clients = createRateLimiter(`${name}-of-client`, own, dependencies);
  const organizations = createRateLimiter(`${name}-of-organization`, shared, dependencies);

  /** Reads the room once a second at most. Nothing waits for it, except the first record. */
  function readRoom(): Promise<void> | undefined {
    if (now() - readAt < ROOM_MILLISECONDS) {
      return undefined;
    }
    readAt = now();
    const reading = store.ping().then(
      (read) => {
        room = read;
        const records = freeBytes(read) / record.bytes;
        own.requests = Math.floor(records);
        shared.requests = Math.floor(ORGANIZATION_FACTOR * records);
      },
      () => undefined,
    );
    return room === undefined ? reading : undefined;
  }

  return {
    /** The rejection that this process already knows. Counts nothing. */
    knownRejection({ clientId, orgId }: BudgetParty): Verdict | undefined {
      // The budget can grow before the window ends.
      void readRoom();
      return clients.knownRejection(clientId) ?? organizations.knownRejection(orgId);
    },
    /**
     * Counts one record, and returns the rejection if it does not fit. Call it for records that
     * cannot be stored by another party, such as a replayed request.
     *
     * @throws StoreUnavailableError, but not if the store is full
     */
    async take({ clientId, orgId }: BudgetParty): Promise<Verdict | undefined> {
      await readRoom();
      if (room?.maximumBytes === undefined) {
        return undefined;
      }
      const first = await clients.take(clientId);
      const verdict = first.allowed ? await organizations.take(orgId) : first;
      return verdict.allowed ? undefined : verdict;
    },
  };
}

/** What records of limited kinds can still take up, in bytes. Infinite in a store without a limit. */
export function freeBytes(room: StoreRoom | undefined): number {
  const { usedBytes = 0, maximumBytes = Number.POSITIVE_INFINITY } = room ?? {};
  const reserved = Math.min(maximumBytes * RESERVED_SHARE, MAXIMUM_RESERVED_BYTES);
  return Math.max(0, maximumBytes - reserved - usedBytes);
}
