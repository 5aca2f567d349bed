/**
 * The authenticator app of a user (TOTP, RFC 6238), and the recovery codes of users with any factor.
 * A code is accepted by one atomic claim, so that it works once in all processes, and then under the
 * lock of the record, so that a removed factor does not come back.
 */
import { randomInt } from 'node:crypto';
import { claimOnce } from '@gatehouse/store';
import { Secret, TOTP } from 'otpauth';
import type { CredentialHash } from '../secrets/credential-keys.ts';
import { type FactorDependencies, hasFactor } from './factor-record.ts';

const PERIOD_SECONDS = 30;
/** The clock of a phone may differ by so many periods. */
const WINDOW = 1;
const SECRET_BYTES = 20;
/** No server accepts a code for longer, even if their clocks differ. */
const CLAIM_SECONDS = 60 * 60;

const RECOVERY_CODES = 10;
/** No vowels and no digits, so that a code is no word and no code of an app. 51 bits. */
const RECOVERY_ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ';
const RECOVERY_LENGTH = 12;

/** What a user proved with a code. */
export type FactorKind = 'totp' | 'recovery';

export function createFactorRegistry(dependencies: FactorDependencies) {
  const { store, credentialHash, now } = dependencies;
  const { find, change, remove } = dependencies.factorRecords;
  const isChanged = async (...changing: Parameters<typeof change<'unchanged'>>) =>
    (await change(...changing)) === undefined;
  const seconds = () => Math.floor(now() / 1000);
  /** Of any number of callers with the same code, one gets true. */
  const claim = (use: string) => claimOnce(store, `factor-used:${use}`, CLAIM_SECONDS);

  async function useTotp(secret: string, code: string): Promise<boolean> {
    const step = stepOf(secret, code, now());
    return step !== undefined && claim(credentialHash(`totp ${secret} ${step}`));
  }

  return {
    /** For pages and commands. */
    async describe(userId: string) {
      const { totp: app, recoveryCodes, passkeys } = await find(userId);
      const shown = app && { enrolledAt: app.enrolledAt, lastUsedAt: app.lastUsedAt };
      return { app: shown, recoveryCodes: recoveryCodes.length, passkeys };
    },
    /** A secret for an app, which nothing stores before a code confirms it. */
    newSecret: (): string => new Secret({ size: SECRET_BYTES }).base32,
    appAddress,
    /**
     * Adds an app that has the secret, in place of an existing one.
     *
     * @param isFirst whether it is only added if the user has no factor
     * @returns the recovery codes, or undefined if the code is wrong or used
     */
    async enroll(
      userId: string,
      { secret, isFirst }: { readonly secret: string; readonly isFirst: boolean },
      code: string,
    ): Promise<readonly string[] | undefined> {
      if (!(await useTotp(secret, canonicalCode(code)))) {
        return undefined;
      }
      const { codes, recoveryCodes } = newRecoveryCodes(userId, credentialHash);
      const added = { secret, enrolledAt: seconds(), lastUsedAt: seconds() };
      const isAdded = await isChanged(userId, (current) =>
        isFirst && hasFactor(current) ? 'unchanged' : { ...current, totp: added, recoveryCodes },
      );
      return isAdded ? codes : undefined;
    },
    /**
     * Uses up a code of the app or a recovery code. Undefined if it is wrong, or was used before.
     *
     * @throws StoreUnavailableError
     */
    async use(userId: string, typed: string): Promise<FactorKind | undefined> {
      const code = canonicalCode(typed);
      const hash = recoveryHash(userId, code, credentialHash);
      const { totp: app, recoveryCodes } = await find(userId);
      if (app !== undefined && (await useTotp(app.secret, code))) {
        const used = { ...app, lastUsedAt: seconds() };
        const isUsed = await isChanged(userId, (current) =>
          current.totp?.secret === app.secret ? { ...current, totp: used } : 'unchanged',
        );
        return isUsed ? 'totp' : undefined;
      }
      if (recoveryCodes.includes(hash) && (await claim(hash))) {
        const isUsed = await isChanged(userId, (current) => {
          const left = current.recoveryCodes.filter((each) => each !== hash);
          const isLeft = left.length < current.recoveryCodes.length;
          return isLeft ? { ...current, recoveryCodes: left } : 'unchanged';
        });
        return isUsed ? 'recovery' : undefined;
      }
      return undefined;
    },
    /** Replaces the recovery codes. Undefined if the user has no factor. */
    async renewRecoveryCodes(userId: string): Promise<readonly string[] | undefined> {
      const { codes, recoveryCodes } = newRecoveryCodes(userId, credentialHash);
      const isRenewed = await isChanged(userId, (current) =>
        hasFactor(current) ? { ...current, recoveryCodes } : 'unchanged',
      );
      return isRenewed ? codes : undefined;
    },
    /**
     * For a restored backup, in which used ones are valid again.
     *
     * @returns whether there were any
     */
    removeRecoveryCodes: (userId: string): Promise<boolean> =>
      isChanged(userId, (current) =>
        current.recoveryCodes.length > 0 ? { ...current, recoveryCodes: [] } : 'unchanged',
      ),
    removeApp: (userId: string) =>
      isChanged(userId, (current) => ({ ...current, totp: undefined })),
    /** Removes everything, also if the record is damaged. */
    remove,
  };
}

/** New codes, and what is stored of them. */
export function newRecoveryCodes(userId: string, credentialHash: CredentialHash) {
  const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode);
  const hashOf = (code: string) => recoveryHash(userId, canonicalCode(code), credentialHash);
  return { codes, recoveryCodes: codes.map(hashOf) };
}

const recoveryHash = (userId: string, code: string, credentialHash: CredentialHash) =>
  credentialHash(`recovery ${userId} ${code}`);

/** The period that the code of an app is for. Undefined if it is wrong. */
function stepOf(secret: string, code: string, timestamp: number): number | undefined {
  const delta = /^\d{6}$/.test(code)
    ? totp(secret).validate({ token: code, timestamp, window: WINDOW })
    : null;
  return delta === null ? undefined : Math.floor(timestamp / 1000 / PERIOD_SECONDS) + delta;
}

/** The address that an app reads from a QR code. */
function appAddress(
  secret: string,
  { issuer, username }: { readonly issuer: string; readonly username: string },
): string {
  return totp(secret, { issuer, label: username }).toString();
}

function totp(secret: string, label: { readonly issuer?: string; readonly label?: string } = {}) {
  const settings = { algorithm: 'SHA1', digits: 6, period: PERIOD_SECONDS };
  return new TOTP({ ...settings, ...label, secret: Secret.fromBase32(secret) });
}

/** In groups of four characters. */
function newRecoveryCode(): string {
  const characters = Array.from(
    { length: RECOVERY_LENGTH },
    () => RECOVERY_ALPHABET[randomInt(RECOVERY_ALPHABET.length)],
  );
  return characters.join('').replace(/.{4}(?=.)/g, '$&-');
}

/** As a person types it: with spaces or hyphens, in any case. */
function canonicalCode(typed: string): string {
  return typed.replace(/[\s-]/g, '').toUpperCase();
}
