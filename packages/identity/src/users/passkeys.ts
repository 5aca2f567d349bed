/**
 * The passkeys of a user (W3C WebAuthn Level 3): public keys. A sign-in finds them with the user
 * handle of the passkey, which is the user id. A challenge is used up by one atomic claim, and the
 * counter of a passkey is compared under the lock of the record.
 */
import { hash, randomBytes } from 'node:crypto';
import { claimOnce } from '@gatehouse/store';
import {
  type FactorDependencies,
  hasFactor,
  type NewPasskey,
  type Passkey,
} from './factor-record.ts';
import { newRecoveryCodes } from './factors.ts';

export const MAXIMUM_PASSKEYS = 10;
/** A sign-in page may be open for as long as its interaction. */
export const PASSKEY_CHALLENGE_SECONDS: number = 60 * 60;

export function createPasskeyRegistry(dependencies: FactorDependencies) {
  const { store, credentialHash, now } = dependencies;
  const { find, change } = dependencies.factorRecords;
  const seconds = () => Math.floor(now() / 1000);

  /** Replaces one passkey. @returns undefined, or why nothing changed */
  const update = <Refusal extends string>(
    userId: string,
    id: string,
    decide: (current: Passkey) => Passkey | Refusal,
  ) =>
    change<Refusal | 'passkey_unknown'>(userId, (current) => {
      const found = current.passkeys.find((each) => each.id === id);
      const changed = found === undefined ? 'passkey_unknown' : decide(found);
      return typeof changed === 'string'
        ? changed
        : {
            ...current,
            passkeys: current.passkeys.map((each) => (each === found ? changed : each)),
          };
    });

  return {
    list: async (userId: string): Promise<readonly Passkey[]> => (await find(userId)).passkeys,
    /**
     * @param isFirst whether it is only added if the user has no factor
     * @returns recovery codes for a user who has none, or why it was not added
     */
    async add(
      userId: string,
      passkey: NewPasskey,
      { isFirst = false } = {},
    ): Promise<{ readonly codes?: readonly string[] } | 'exists' | 'full'> {
      const { codes, recoveryCodes } = newRecoveryCodes(userId, credentialHash);
      let hasCodes = false;
      const problem = await change<'exists' | 'full'>(userId, (current) => {
        const { passkeys } = current;
        if ((isFirst && hasFactor(current)) || passkeys.some(({ id }) => id === passkey.id)) {
          return 'exists';
        }
        hasCodes = current.recoveryCodes.length > 0;
        return passkeys.length < MAXIMUM_PASSKEYS
          ? {
              ...current,
              passkeys: [...passkeys, { ...passkey, createdAt: seconds() }],
              ...(!hasCodes && { recoveryCodes }),
            }
          : 'full';
      });
      return problem ?? (hasCodes ? {} : { codes });
    },
    rename: (userId: string, id: string, name: string) =>
      update(userId, id, (current) => ({ ...current, name })),
    /** @returns 'passkey_unknown' if it was removed before */
    remove: (userId: string, id: string) =>
      change(userId, (current) => {
        const passkeys = current.passkeys.filter((each) => each.id !== id);
        return passkeys.length < current.passkeys.length
          ? { ...current, passkeys }
          : 'passkey_unknown';
      }),
    /**
     * Records a verified use. An authenticator that counts must count up (WebAuthn §6.1.1):
     * otherwise two of them have the key.
     *
     * @returns undefined, or why the use does not count
     */
    recordUse: (userId: string, id: string, use: Pick<Passkey, 'counter' | 'isBackedUp'>) =>
      update<'passkey_copied'>(userId, id, (current) => {
        const isCounting = current.counter > 0 || use.counter > 0;
        return isCounting && use.counter <= current.counter
          ? 'passkey_copied'
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
