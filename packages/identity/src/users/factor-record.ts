/**
 * What a user signs in with in addition to the password, or in place of it: one record, sealed for
 * its key. factors.ts changes the authenticator app and the recovery codes, passkeys.ts the passkeys.
 */
import { z } from 'zod';
import { parseRecord, text } from '../records/record.ts';
import { withRecordLock } from '../records/record-lock.ts';
import type { SecretDependencies } from '../secrets/seal.ts';

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

/** Times are epoch seconds. */
const storedPasskey = passkeySchema.extend({
  createdAt: z.number(),
  lastUsedAt: z.number().optional(),
});

export type NewPasskey = Readonly<z.infer<typeof passkeySchema>>;
export type Passkey = Readonly<z.infer<typeof storedPasskey>>;

const storedFactors = z.object({
  /** The authenticator app. The secret is in base32. */
  totp: z.object({ secret: z.string(), enrolledAt: z.number(), lastUsedAt: z.number() }).optional(),
  /** The hashes of those that are left. */
  recoveryCodes: z.array(z.string()),
  passkeys: z.array(storedPasskey),
});

type Factors = Readonly<z.infer<typeof storedFactors>>;

export const hasFactor = ({ totp, passkeys }: Pick<Factors, 'totp' | 'passkeys'>): boolean =>
  totp !== undefined || passkeys.length > 0;

export const factorsKey = (userId: string): string => `factors:${userId}`;

const ADVICE = 'Run gatehouse users change --reset-factors.';

/** What changes the record. */
export interface FactorDependencies extends SecretDependencies {
  readonly factorRecords: ReturnType<typeof createFactorRecords>;
}

export function createFactorRecords({ store, sealer, onDamagedRecord }: SecretDependencies) {
  /** @throws Error if the record is damaged, because its absence means less protection */
  async function find(userId: string): Promise<Factors> {
    const key = factorsKey(userId);
    const sealed = await store.get(key);
    if (sealed === undefined) {
      return { recoveryCodes: [], passkeys: [] };
    }
    const factors = parseRecord(storedFactors, sealer.tryOpen(sealed, key) ?? '');
    if (factors === undefined) {
      onDamagedRecord?.('second factor', key, ADVICE);
      throw new Error(`The record ${key} in the store is damaged. ${ADVICE}`);
    }
    return factors;
  }

  return {
    find,
    /**
     * Changes the record under its lock. The recovery codes go with the last factor.
     *
     * @param decide returns the changed factors, or why nothing changes
     * @returns undefined, or why nothing changed
     */
    change: <Refusal extends string>(
      userId: string,
      decide: (current: Factors) => Factors | Refusal,
    ): Promise<Refusal | undefined> => {
      const key = factorsKey(userId);
      return withRecordLock(store, key, async (assertHeld) => {
        const changed = decide(await find(userId));
        assertHeld();
        if (typeof changed === 'string') {
          return changed;
        }
        await (hasFactor(changed)
          ? store.set(key, sealer.seal(JSON.stringify(changed), key))
          : store.delete([key]));
        return undefined;
      });
    },
    /** Also if the record is damaged. */
    remove: (userId: string): Promise<void> => {
      const key = factorsKey(userId);
      return withRecordLock(store, key, async (assertHeld) => {
        assertHeld();
        await store.delete([key]);
      });
    },
  };
}
