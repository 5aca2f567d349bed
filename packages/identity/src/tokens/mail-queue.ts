/**
 * Mails that have to be sent. An entry has only the request. Whether its user exists, and the link of
 * the mail, are decided when the mail is sent: a request costs the same for known and unknown names,
 * and a link that waited is still valid. Entries are sealed, because they have names as entered and
 * addresses.
 *
 * Each organization has its own queue. Requests for new passwords have one of their own, because
 * their organization is unknown.
 */
import { StoreFullError } from '@gatehouse/store';
import { z } from 'zod';
import { userChangeNames } from '../log/audit-event.ts';
import { parseRecord } from '../records/record.ts';
import type { SecretDependencies } from '../secrets/seal.ts';
import { canonicalEmail } from '../users/user.ts';
import { createDeliveryQueues, deliverySchema } from './delivery-queue.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** To one address, and for one account. Only the users themselves cause mails about changes. */
const maximumPerHour = (kind: WantedMail['kind']) => (kind === 'changed' ? 20 : 3);

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
  /** `email` is the address before the change, which is a name of the audit trail. */
  z.object({
    kind: z.literal('changed'),
    userId: z.string(),
    email: z.string(),
    change: z.enum(userChangeNames),
    ...request,
  }),
]);

export type WantedMail = Readonly<z.infer<typeof wantedMail>>;

const storedMail = deliverySchema.extend({ sealed: z.string() });

export type QueuedMail = Readonly<z.infer<typeof storedMail>>;

export function createMailQueue({ store, sealer, credentialHash, now }: SecretDependencies) {
  const contextOf = ({ id }: Pick<QueuedMail, 'id'>) => `mail:${id}`;
  const seal = (mail: Omit<QueuedMail, 'sealed'>, text: string): QueuedMail => {
    return { ...mail, sealed: sealer.seal(text, contextOf(mail)) };
  };
  const unseal = (mail: QueuedMail) => sealer.tryOpen(mail.sealed, contextOf(mail));

  const queues = createDeliveryQueues<QueuedMail>(
    {
      keys: { queues: 'mail-queues', entries: 'mails', claim: 'mail-claim' },
      schema: storedMail,
      pauses: [10 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE],
      lifetimeMilliseconds: 24 * HOUR,
      taken: 50,
      // In a rotation of the master key, no entry needs the previous key for more than an hour.
      renew(mail) {
        const text = unseal(mail);
        return text === undefined ? undefined : seal(mail, text);
      },
    },
    { store, now },
  );

  return {
    ...queues,
    /** @throws StoreFullError if too many are waiting */
    async add(queue: string, wanted: WantedMail): Promise<void> {
      const text = JSON.stringify(wanted);
      if (!(await queues.add(queue, (begun) => seal(begun, text)))) {
        throw new StoreFullError('mails', new Error('Too many mails are waiting.'));
      }
    },
    /** Undefined if no key decrypts it. */
    open: (mail: QueuedMail): WantedMail | undefined => parseRecord(wantedMail, unseal(mail)),
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
      return counts.every(({ count }) => count <= maximumPerHour(kind));
    },
  };
}
