/**
 * The request log: every failed request and a sample of the others, for operators who explain a
 * failure. Written behind the replies, limited in number and age, in the store that all processes
 * share.
 *
 *   record ─▶ queue ─ every second ─▶ shares ─▶ bounded-log ─▶ read, find
 *
 * Not here: choosing the requests and their members, which packages/server does.
 */
import { z } from 'zod';
import { parseRecord } from '../records/record.ts';
import {
  type BoundedLog,
  createBoundedLog,
  hasMembers,
  type LogDependencies,
} from './bounded-log.ts';

/**
 * One request. It contains no URL, no header except the user agent, no body and nothing derived from
 * a secret. Times are in milliseconds.
 */
const requestEntry = z.object({
  /** When the request arrived. */
  at: z.number(),
  requestId: z.string(),
  app: z.string(),
  method: z.string().optional(),
  /** The name of the route. */
  operation: z.string(),
  /** A registered client. */
  clientId: z.string().optional(),
  /** The user for whom the client acts, or who signs in. */
  userId: z.string().optional(),
  /** Whether the client proved its identity. Otherwise the request only names it. */
  verified: z.boolean(),
  credential: z.string().optional(),
  /** The id of the secure key that verified the request. */
  keyId: z.string().optional(),
  /** Absent if the caller left before the reply. */
  status: z.number().optional(),
  aborted: z.boolean(),
  code: z.string().optional(),
  /** Present exactly if the request failed. */
  reason: z.string().optional(),
  /** A value that completes the reason: the missing scope, for example. */
  finding: z.string().optional(),
  /** Until the credential was verified. */
  verifiedMs: z.number().optional(),
  /** From sending the request to the upstream until the head of its reply. */
  upstreamMs: z.number().optional(),
  durationMs: z.number(),
  addressGroup: z.string(),
  userAgent: z.string().optional(),
});

export type RequestEntry = Readonly<z.infer<typeof requestEntry>>;

/**
 * Maximum number of entries of each trail. An entry needs at most 1 KB in Redis, so all trails need
 * less than 22 MB.
 *
 * - `client`: failures of clients that proved their identity
 * - `caller`: failures of all other callers
 * - `success`: a sample of the requests that succeeded
 * - `client-overflow`, `caller-overflow`: the latest failures beyond a share
 */
const capacities = {
  client: 9_000,
  caller: 5_000,
  success: 3_500,
  'client-overflow': 2_000,
  'caller-overflow': 2_000,
} as const;

type Trail = keyof typeof capacities;
/** The trails in which each client or address group has a share. */
type SharedTrail = Exclude<Trail, `${string}-overflow`>;

const FLUSH_MILLISECONDS = 1000;

/** What happened to an entry. Only `stored` entries can be found. */
export const requestLogResults = ['stored', 'over_quota', 'queue_full', 'unavailable'] as const;

export type RequestLogResult = (typeof requestLogResults)[number];

/** Members of the entries that a search can select. */
const filterNames = ['clientId', 'userId', 'code', 'reason', 'operation', 'addressGroup'] as const;

interface RequestFilter
  extends Readonly<Partial<Record<(typeof filterNames)[number], string | undefined>>> {
  /** Epoch milliseconds. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly limit: number;
}

export type RequestLog = ReturnType<typeof createRequestLog>;

export function createRequestLog(
  dependencies: LogDependencies & {
    /** Counts what happened to the entries, for metrics. */
    readonly count?: ((result: RequestLogResult, entries: number) => void) | undefined;
  },
) {
  const { count = () => {} } = dependencies;
  const log = createBoundedLog<Trail>(
    { name: 'request-log', capacities, retentionDays: 7, shareSeconds: 60 * 60 },
    dependencies,
  );
  const queue = createQueue(log.isUsedUp);
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    while (writing !== undefined || !queue.isEmpty()) {
      writing ??= writeQueued(log, queue.take(), count).finally(() => {
        writing = undefined;
      });
      await writing;
    }
  }

  const search = (
    matches: (entry: RequestEntry) => boolean,
    { since = 0, until, limit }: Pick<RequestFilter, 'since' | 'until' | 'limit'>,
  ) =>
    log.search(log.trails, {
      parse: parseEntries,
      timeOf: ({ at }) => at,
      ...{ matches, since, until, limit },
    });

  return {
    /** Returns immediately and never fails. An entry without room in the queue is lost. */
    record(entry: RequestEntry): void {
      if (!queue.add(entry)) {
        count('queue_full', 1);
      }
      timer ??= setTimeout(() => void flush(), FLUSH_MILLISECONDS).unref();
    },
    /** Resolves when all recorded entries are stored or lost. Await it before you close the store. */
    flush,
    /** Newest first. */
    read: (filter: RequestFilter): Promise<readonly RequestEntry[]> =>
      search((entry) => hasMembers(entry, filter, filterNames), filter),
    /** All entries with the id, oldest first. A caller can choose an id that was used before. */
    async find(requestId: string): Promise<readonly RequestEntry[]> {
      const isSought = (entry: RequestEntry) => entry.requestId === requestId;
      return (await search(isSought, { limit: Number.POSITIVE_INFINITY })).reverse();
    },
  };
}

/** Skips a damaged line, and entries of releases that did not store JSON objects. */
function parseEntries(lines: readonly string[]): readonly RequestEntry[] {
  return lines.flatMap((line) => parseRecord(requestEntry, line) ?? []);
}

/** The entries of one client or address group that wait to be stored, oldest first. */
interface QueuedEntries {
  readonly trail: SharedTrail;
  readonly owner: string;
  readonly entries: RequestEntry[];
}

/** Limits of the memory, and of the writes of one flush. */
const laneCapacities = { client: 128, caller: 192, success: 32, overflow: 32 } as const;
/** Of one client or address group. The newest entries are kept. */
const OWNER_CAPACITY = 32;
/** Of an owner whose share is used up. */
const OWNER_OVERFLOW = 4;

/**
 * Bounds what waits for a flush. An owner whose share is used up gets only a small lane of its own,
 * so that a flood leaves room for everyone else.
 */
function createQueue(isUsedUp: (trail: SharedTrail, owner: string) => boolean) {
  const lanes = new Map<string, { size: number; readonly owners: Map<string, QueuedEntries> }>();

  return {
    /** Returns whether every entry has room. Otherwise, one was lost. */
    add(entry: RequestEntry): boolean {
      const { trail, owner } = placeOf(entry);
      const isOverflow = isUsedUp(trail, owner);
      const name = isOverflow ? 'overflow' : trail;
      if (isOverflow && trail === 'success') {
        return false;
      }
      const lane = lanes.get(name) ?? { size: 0, owners: new Map<string, QueuedEntries>() };
      lanes.set(name, lane);
      const known = lane.owners.get(`${trail} ${owner}`);
      const queued = known ?? { trail, owner, entries: [] };
      if (queued.entries.length >= (isOverflow ? OWNER_OVERFLOW : OWNER_CAPACITY)) {
        queued.entries.shift();
        queued.entries.push(entry);
        return false;
      }
      const isFull = lane.size >= laneCapacities[name];
      if (isFull && (known !== undefined || !displace(lane.owners))) {
        return false;
      }
      lane.owners.set(`${trail} ${owner}`, queued);
      queued.entries.push(entry);
      lane.size += isFull ? 0 : 1;
      return !isFull;
    },
    isEmpty: () => lanes.size === 0,
    /** Empties the queue. */
    take(): readonly QueuedEntries[] {
      const taken = [...lanes.values()].flatMap(({ owners }) => [...owners.values()]);
      lanes.clear();
      return taken;
    },
  };
}

/** Makes room for the first entry of an owner: the greediest owner loses its oldest entry. */
function displace(owners: ReadonlyMap<string, QueuedEntries>): boolean {
  const [greediest] = [...owners.values()].sort((a, b) => b.entries.length - a.entries.length);
  const canShare = greediest !== undefined && greediest.entries.length > 1;
  return canShare && greediest.entries.shift() !== undefined;
}

/**
 * A client owns only what it proved to be its own. Otherwise an attacker could use up its share.
 */
function placeOf({ reason, verified, clientId, addressGroup }: RequestEntry) {
  const isProven = verified && clientId !== undefined;
  const failures: SharedTrail = isProven ? 'client' : 'caller';
  const trail: SharedTrail = reason === undefined ? 'success' : failures;
  return { trail, owner: isProven ? clientId : addressGroup };
}

/** Of all owners, in one flush. */
const TOTAL_OVERFLOW = 32;

/** Writes the entries within the share of their owner, and the newest of the others. */
async function writeQueued(
  log: BoundedLog<Trail>,
  queued: readonly QueuedEntries[],
  count: (result: RequestLogResult, entries: number) => void,
): Promise<void> {
  const batches = new Map<Trail, RequestEntry[]>();
  const add = (trail: Trail, entries: readonly RequestEntry[]) => {
    if (entries.length > 0) {
      batches.set(trail, [...(batches.get(trail) ?? []), ...entries]);
    }
  };

  async function divide({ trail, owner, entries }: QueuedEntries): Promise<void> {
    const allowed = await log.takeShare(trail, owner, entries.length);
    add(trail, entries.slice(0, allowed));
    const beyond = entries.slice(allowed);
    let kept: readonly RequestEntry[] = [];
    if (trail !== 'success') {
      const room = TOTAL_OVERFLOW - (batches.get(`${trail}-overflow`)?.length ?? 0);
      const length = Math.min(beyond.length, OWNER_OVERFLOW, room);
      kept = length > 0 ? beyond.slice(-length) : [];
      add(`${trail}-overflow`, kept);
    }
    count('over_quota', beyond.length - kept.length);
  }

  async function append(trail: Trail, entries: readonly RequestEntry[]): Promise<void> {
    const ordered = entries.toSorted((a, b) => a.at - b.at);
    await log.append(
      trail,
      ordered.map((entry) => JSON.stringify(entry)),
    );
    count('stored', entries.length);
  }

  // If the share is unknown, the entries are lost: an attacker who slows the store down must not be
  // able to exceed it.
  const orLose = (work: Promise<void>, { length }: readonly RequestEntry[]) =>
    work.catch(() => count('unavailable', length));
  await Promise.all(queued.map((each) => orLose(divide(each), each.entries)));
  await Promise.all(
    [...batches].map(([trail, entries]) => orLose(append(trail, entries), entries)),
  );
}
