/**
 * The passkeys of a user (W3C WebAuthn Level 3): public keys, which are one sealed record. A sign-in
 * finds the record with the user handle of the passkey, which is the user id. A challenge is used
 * up by one atomic claim, and the counter of a passkey is compared under the lock of the record.
 */
import { hash, randomBytes } from 'node:crypto';
import { claimOnce } from '@gatehouse/store';
import { z } from 'zod';
import { text } from '../records/record.ts';
import { createSealedRecords, type SealedRecordDependencies } from './sealed-record.ts';

export const MAXIMUM_PASSKEYS = 10;
/** A sign-in page may be open for as long as its interaction. */
export const PASSKEY_CHALLENGE_SECONDS: number = 60 * 60;

export const passkeyName = text(60);

const base64url = (maximumBytes: number) =>
  z
    .string()
    .regex(/^[\w-]+$/)
    .max(Math.ceil((maximumBytes * 4) / 3));

/** Of a new passkey. The limits bound the record. */
export const passkeySchema = z.object({
  /** WebAuthn §4: at most 1023 bytes. */
  id: base64url(1023),
  /** COSE. An RSA key of 8192 bits has less. */
  publicKey: base64url(1200),
  counter: z.number().int().nonnegative(),
  name: passkeyName,
  /** How browsers reach it. They ignore what they do not know. */
  transports: z.array(z.string().max(20)).max(8),
  /** It never leaves its authenticator, as that reports. */
  isDeviceBound: z.boolean(),
  /** It has a copy, such as in the account of the phone. */
  isBackedUp: z.boolean(),
});

const storedPasskey = passkeySchema.extend({
  /** Epoch seconds. */
  createdAt: z.number(),
  lastUsedAt: z.number().optional(),
});

export type NewPasskey = Readonly<z.infer<typeof passkeySchema>>;
export type Passkey = Readonly<z.infer<typeof storedPasskey>>;

export const passkeysKey = (userId: string): string => `passkeys:${userId}`;

interface Dependencies extends SealedRecordDependencies {
  readonly now: () => number;
}

export function createPasskeyRegistry(dependencies: Dependencies) {
  const { store, now } = dependencies;
  const { list, change, update, remove: removeAll } = createRecords(dependencies);
  const seconds = () => Math.floor(now() / 1000);

  return {
    list,
    /** @returns undefined, or why it was not added */
    add: (userId: string, passkey: NewPasskey) =>
      change<'exists' | 'full'>(userId, (current) => {
        if (current.some(({ id }) => id === passkey.id)) {
          return 'exists';
        }
        return current.length < MAXIMUM_PASSKEYS
          ? [...current, { ...passkey, createdAt: seconds() }]
          : 'full';
      }),
    /** @returns 'unknown' if it was removed before */
    rename: (userId: string, id: string, name: string) =>
      update(userId, id, (current) => ({ ...current, name })),
    /** @returns 'unknown' if it was removed before */
    remove: (userId: string, id: string) =>
      change(userId, (current) => {
        const left = current.filter((each) => each.id !== id);
        return left.length < current.length ? left : 'unknown';
      }),
    /** Also if the record is damaged. */
    removeAll,
    /**
     * Records a verified use. An authenticator that counts must count up (WebAuthn §6.1.1):
     * otherwise two of them have the key.
     *
     * @returns undefined, or why the use does not count
     */
    recordUse: (userId: string, id: string, use: Pick<Passkey, 'counter' | 'isBackedUp'>) =>
      update<'copied'>(userId, id, (current) => {
        const isCounting = current.counter > 0 || use.counter > 0;
        return isCounting && use.counter <= current.counter
          ? 'copied'
          : { ...current, ...use, lastUsedAt: seconds() };
      }),
    newChallenge: (): string => randomBytes(32).toString('base64url'),
    /** Of any number of callers with the same challenge, one gets true. */
    claimChallenge(challenge: string): Promise<boolean> {
      const key = `passkey-challenge-used:${hash('sha256', challenge, 'base64url')}`;
      // No server accepts the challenge for as long, even if their clocks differ.
      return claimOnce(store, key, 2 * PASSKEY_CHALLENGE_SECONDS);
    },
  };
}

function createRecords(dependencies: Dependencies) {
  const { find, change, remove } = createSealedRecords<readonly Passkey[]>(
    {
      kind: 'passkey',
      keyOf: passkeysKey,
      schema: z.array(storedPasskey),
      advice: 'Run gatehouse users change --reset-factors.',
    },
    dependencies,
  );

  /** @throws Error if the record is damaged */
  const list = async (userId: string) => (await find(userId)) ?? [];

  /** @param decide returns the changed passkeys, or a text: why nothing changes */
  const changeList = <Refusal extends string>(
    userId: string,
    decide: (current: readonly Passkey[]) => readonly Passkey[] | Refusal,
  ) =>
    change<Refusal>(userId, (current = []) => {
      const changed = decide(current);
      return changed.length === 0 ? undefined : changed;
    });

  /** Replaces one passkey. */
  const update = <Refusal extends string>(
    userId: string,
    id: string,
    decide: (current: Passkey) => Passkey | Refusal,
  ) =>
    changeList<Refusal | 'unknown'>(userId, (current) => {
      const found = current.find((each) => each.id === id);
      const changed = found === undefined ? 'unknown' : decide(found);
      return typeof changed === 'string'
        ? changed
        : current.map((each) => (each === found ? changed : each));
    });

  return { list, change: changeList, update, remove };
}
