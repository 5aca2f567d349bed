/**
 * Queues of what has to be delivered: mails, and sign-outs of which clients are notified. Entries wait
 * in the store, so that neither a restart nor a recipient that is down loses one, and any server can
 * deliver them. A claim gives each attempt to one server. If this server fails, another one gets it
 * when the claim expires.
 *
 *   add ─▶ entry ─▶ four times a second: due ─▶ claim ─▶ attempt ─▶ finish ─▶ gone, or due again later
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { claimOnce } from '@gatehouse/store';
import { z } from 'zod';
import { parseRecord, type RecordDependencies } from '../records/record.ts';

const POLL_MILLISECONDS = 250;
/** In one queue. Nobody can cause more. */
const MAXIMUM_ENTRIES = 1000;
/** A server has to end each attempt before its claim expires. */
const CLAIM_SECONDS = 60;

/** The members of every entry. */
export const deliverySchema = z.object({
  id: z.string(),
  /** The number of attempts that failed. */
  failed: z.int(),
  /** Epoch milliseconds. */
  dueAt: z.int(),
  expiresAt: z.int(),
});

type Delivery = Readonly<z.infer<typeof deliverySchema>>;

export function createDeliveryQueues<Entry extends Delivery>(
  queues: {
    /** The keys in the store: the list of queues, and the beginnings of entries and claims. */
    readonly keys: Readonly<Record<'queues' | 'entries' | 'claim', string>>;
    readonly schema: z.ZodType<Entry>;
    /** Before the second attempt, and so on. The last pause repeats. */
    readonly pauses: readonly number[];
    readonly lifetimeMilliseconds: number;
    /** A server works on so many entries of a queue at a time. */
    readonly taken: number;
    /** What waits for the next attempt. Undefined: there is none. */
    readonly renew?: (tried: Entry) => Entry | undefined;
  },
  { store, now }: RecordDependencies,
) {
  const { keys, schema, pauses, lifetimeMilliseconds, taken, renew = (tried) => tried } = queues;
  const entriesKey = (queue: string) => `${keys.entries}:${queue}`;
  const list = (queue: string) =>
    store.addToIndex(keys.queues, queue, now() + lifetimeMilliseconds);

  async function put(queue: string, entry: Entry): Promise<void> {
    await store.addToIndex(entriesKey(queue), JSON.stringify(entry), entry.expiresAt);
    // After the entry: `due` removes queues without entries.
    await list(queue);
  }

  return {
    /**
     * Completes a new entry.
     *
     * @param delay in milliseconds
     * @returns false if too many are waiting
     */
    async add(queue: string, complete: (begun: Delivery) => Entry, delay = 0): Promise<boolean> {
      if ((await store.members(entriesKey(queue))).length >= MAXIMUM_ENTRIES) {
        return false;
      }
      const at = now();
      const times = { dueAt: at + delay, expiresAt: at + lifetimeMilliseconds };
      await put(queue, complete({ id: randomUUID(), failed: 0, ...times }));
      return true;
    },
    /** The queues that have entries. */
    queues: (): Promise<readonly string[]> => store.members(keys.queues),
    /** The entries that are due, earliest first. */
    async due(queue: string): Promise<readonly Entry[]> {
      const members = await store.members(entriesKey(queue));
      if (members.length === 0) {
        await store.removeFromIndex(keys.queues, queue);
        if ((await store.members(entriesKey(queue))).length > 0) {
          await list(queue);
        }
      }
      const at = now();
      return members
        .flatMap((text) => parseRecord(schema, text) ?? [])
        .filter(({ dueAt }) => dueAt <= at)
        .sort((a, b) => a.dueAt - b.dueAt)
        .slice(0, taken);
    },
    /** Whether this caller makes the next attempt. */
    claim: ({ id, failed }: Entry): Promise<boolean> =>
      claimOnce(store, `${keys.claim}:${id}:${failed}`, CLAIM_SECONDS),
    /**
     * Ends an attempt. Without success, the entry is due again later, or was due for the last time.
     *
     * @returns whether another attempt follows. The last one ends before the entry expires
     */
    async finish(queue: string, tried: Entry, isDone: boolean): Promise<boolean> {
      const dueAt = now() + (pauses[Math.min(tried.failed, pauses.length - 1)] ?? 0);
      const again = isDone || dueAt >= tried.expiresAt ? undefined : renew(tried);
      if (again !== undefined) {
        await put(queue, { ...again, failed: tried.failed + 1, dueAt });
      }
      await store.removeFromIndex(entriesKey(queue), JSON.stringify(tried));
      return again !== undefined;
    },
  };
}

type Queues<Entry> = Pick<
  ReturnType<typeof createDeliveryQueues<Entry & Delivery>>,
  'queues' | 'due' | 'claim'
>;

/**
 * Runs until the signal aborts. A queue with many entries, or with a slow recipient, delays no other.
 * An unavailable store ends an attempt, not the delivery.
 *
 * @param attempt finishes the entry. False: the others of the queue would fail now as well
 */
export async function deliverQueues<Entry>(
  { queues, due, claim }: Queues<Entry>,
  attempt: (queue: string, entry: Entry) => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  const busy = new Set<string>();

  async function deliverFrom(queue: string): Promise<void> {
    for (const entry of await due(queue)) {
      if (signal.aborted || ((await claim(entry)) && !(await attempt(queue, entry)))) {
        return;
      }
    }
  }

  while (!signal.aborted) {
    for (const queue of await queues().catch(() => [])) {
      if (!busy.has(queue)) {
        busy.add(queue);
        void deliverFrom(queue)
          .catch(() => undefined)
          .finally(() => busy.delete(queue));
      }
    }
    await sleep(POLL_MILLISECONDS, undefined, { signal, ref: false }).catch(() => undefined);
  }
}
