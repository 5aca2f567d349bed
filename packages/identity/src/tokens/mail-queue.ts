/**
 * Mails that have to be sent. They wait in the store, so that neither a restart nor a mail server
 * that is down loses one, and any server can send them. A claim gives each attempt to one server. If
 * this server fails, another one gets it when the claim expires.
 *
 * An entry has only the request. Whether that user exists, and the link of the mail, are decided
 * when the mail is sent: a request costs the same for known and unknown names, and a link that
 * waited is still valid. Entries are sealed, because they have names as entered and addresses.
 *
 * Each organization has its own queue. Requests for new passwords have one of their own, because
 * their organization is unknown.
 */
import { randomUUID } from 'node:crypto';
import { type Store, StoreFullError } from '@gatehouse/store';
import { z } from 'zod';
import { parseRecord } from '../records/record.ts';
import type { CredentialHash } from '../secrets/credential-keys.ts';
import type { Sealer } from '../secrets/seal.ts';
import { canonicalEmail } from '../users/user.ts';

const QUEUES_KEY = 'mail-queues';
const mailsKey = (queue: string) => `mails:${queue}`;

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/**
 * Before the second attempt, and so on. Each attempt seals the entry again: in a rotation of the
 * master key, no entry needs the previous key for more than an hour.
 */
const RETRY_MILLISECONDS = [10 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE];
const LIFETIME_MILLISECONDS = 24 * HOUR;
/** Of one organization. */
const MAXIMUM_MAILS = 1000;
/** A server works on so many at a time. */
const TAKEN_MAILS = 50;
/** Longer than an attempt. */
const CLAIM_SECONDS = 60;
/** To one address, and for one account. */
const MAXIMUM_PER_HOUR = 3;

const request = {
  /** Epoch milliseconds. */
  at: z.int(),
  /** Of the request: the address group, the browser and the system. */
  from: z.string().optional(),
  browser: z.string().optional(),
  system: z.string().optional(),
  /** The language of the request. */
  locale: z.string().optional(),
};

const wantedMail = z.discriminatedUnion('kind', [
  /** `login` is what a person entered: a username or an address, of any user or of none. */
  z.object({ kind: z.literal('reset'), login: z.string(), ...request }),
  z.object({ kind: z.literal('verify'), userId: z.string(), email: z.string(), ...request }),
  z.object({ kind: z.literal('register'), orgId: z.string(), email: z.string(), ...request }),
  /** An operator has the token of the link as well. */
  z.object({
    kind: z.literal('invite'),
    orgId: z.string(),
    email: z.string(),
    token: z.string(),
    ...request,
  }),
]);

export type WantedMail = Readonly<z.infer<typeof wantedMail>>;

const storedMail = z.object({
  id: z.string(),
  /** The number of attempts that failed. */
  failed: z.int(),
  /** Epoch milliseconds. */
  dueAt: z.int(),
  expiresAt: z.int(),
  sealed: z.string(),
});

export type QueuedMail = Readonly<z.infer<typeof storedMail>>;

export type MailQueue = ReturnType<typeof createMailQueue>;

export function createMailQueue(dependencies: {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly credentialHash: CredentialHash;
  readonly now: () => number;
}) {
  const { store, sealer, credentialHash, now } = dependencies;
  const contextOf = (id: string) => `mail:${id}`;

  async function put(queue: string, mail: Omit<QueuedMail, 'sealed'>, text: string) {
    const sealed = sealer.seal(text, contextOf(mail.id));
    const key = mailsKey(queue);
    await store.addToIndex(key, JSON.stringify({ ...mail, sealed }), mail.expiresAt);
    // After the mail: `due` removes queues without mails.
    await store.addToIndex(QUEUES_KEY, queue, now() + LIFETIME_MILLISECONDS);
  }

  return {
    /** @throws StoreFullError if too many are waiting */
    async add(queue: string, wanted: WantedMail): Promise<void> {
      if ((await store.members(mailsKey(queue))).length >= MAXIMUM_MAILS) {
        throw new StoreFullError('mails', new Error('Too many mails are waiting.'));
      }
      const dueAt = now();
      const expiresAt = dueAt + LIFETIME_MILLISECONDS;
      await put(queue, { id: randomUUID(), failed: 0, dueAt, expiresAt }, JSON.stringify(wanted));
    },
    /** The queues that have mails. */
    queues: (): Promise<readonly string[]> => store.members(QUEUES_KEY),
    /** The mails that are due, earliest first. */
    async due(queue: string): Promise<readonly QueuedMail[]> {
      const key = mailsKey(queue);
      const members = await store.members(key);
      if (members.length === 0) {
        await store.removeFromIndex(QUEUES_KEY, queue);
        if ((await store.members(key)).length > 0) {
          await store.addToIndex(QUEUES_KEY, queue, now() + LIFETIME_MILLISECONDS);
        }
        return [];
      }
      const at = now();
      return members
        .flatMap((text) => parseRecord(storedMail, text) ?? [])
        .filter(({ dueAt }) => dueAt <= at)
        .sort((a, b) => a.dueAt - b.dueAt)
        .slice(0, TAKEN_MAILS);
    },
    /** Whether this caller makes the next attempt. */
    async claim({ id, failed }: QueuedMail): Promise<boolean> {
      const owner = randomUUID();
      return (await store.claim(`mail-claim:${id}:${failed}`, owner, CLAIM_SECONDS)) === owner;
    },
    /** Undefined if no key decrypts it. */
    open({ id, sealed }: QueuedMail): WantedMail | undefined {
      return parseRecord(wantedMail, sealer.tryOpen(sealed, contextOf(id)) ?? '');
    },
    /**
     * Whether one more mail of this kind may go to this address. Kinds count apart: a stranger who
     * causes mails of one kind must not prevent a new password. Each call counts.
     *
     * @param userId of an account whose owner can cause mails to any address
     */
    async mayMail(kind: WantedMail['kind'], email: string, userId?: string): Promise<boolean> {
      const parties = [credentialHash(canonicalEmail(email)), ...(userId ? [userId] : [])];
      const counts = await Promise.all(
        parties.map((party) => store.increment(`mails-to:${kind}:${party}`, HOUR / SECOND)),
      );
      return counts.every(({ count }) => count <= MAXIMUM_PER_HOUR);
    },
    /**
     * Ends an attempt. Without success, the mail is due again later, or was due for the last time.
     *
     * @returns whether another attempt follows
     */
    async finish(queue: string, tried: QueuedMail, isDone: boolean): Promise<boolean> {
      const { id, failed, expiresAt } = tried;
      const wait = RETRY_MILLISECONDS[Math.min(failed, RETRY_MILLISECONDS.length - 1)] ?? 0;
      const dueAt = now() + wait;
      const text = isDone ? undefined : sealer.tryOpen(tried.sealed, contextOf(id));
      const isAgain = text !== undefined && dueAt < expiresAt;
      if (isAgain) {
        await put(queue, { id, failed: failed + 1, dueAt, expiresAt }, text);
      }
      await store.removeFromIndex(mailsKey(queue), JSON.stringify(tried));
      return isAgain;
    },
  };
}
