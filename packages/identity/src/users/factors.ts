/**
 * The second factors of a user: an authenticator app (TOTP, RFC 6238) and ten recovery codes. They
 * are one sealed record. A code is accepted by one atomic claim, so that it works once in all
 * processes, and then under the lock of the record, so that a removed factor does not come back.
 *
 * Passkeys have a record of their own.
 */
import { randomInt } from 'node:crypto';
import { claimOnce } from '@gatehouse/store';
import { Secret, TOTP } from 'otpauth';
import { z } from 'zod';
import type { CredentialHash } from '../secrets/credential-keys.ts';
import { createSealedRecords, type SealedRecordDependencies } from './sealed-record.ts';

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

const storedFactors = z.object({
  totp: z.object({
    /** In base32. */
    secret: z.string(),
    /** Epoch seconds. */
    enrolledAt: z.number(),
    lastUsedAt: z.number(),
  }),
  /** The hashes of those that are left. */
  recoveryCodes: z.array(z.string()),
});

type Factors = Readonly<z.infer<typeof storedFactors>>;

export const factorsKey = (userId: string): string => `factors:${userId}`;

/** What a user proved with a code. */
export type FactorKind = 'totp' | 'recovery';

interface Dependencies extends SealedRecordDependencies {
  readonly credentialHash: CredentialHash;
  readonly now: () => number;
}

export function createFactorRegistry(dependencies: Dependencies) {
  const { credentialHash, now } = dependencies;
  const { find, change, remove } = createRecords(dependencies);
  const { claim, useTotp } = createClaims(dependencies);
  const seconds = () => Math.floor(now() / 1000);
  const hashOf = (userId: string, code: string) => credentialHash(`recovery ${userId} ${code}`);

  /** New codes, and what is stored of them. */
  const newRecoveryCodes = (userId: string) => {
    const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode);
    return { codes, recoveryCodes: codes.map((code) => hashOf(userId, canonicalCode(code))) };
  };

  return {
    /** For pages and commands. Undefined: the user has no second factor. */
    async describe(userId: string) {
      const found = await find(userId);
      const { enrolledAt = 0, lastUsedAt = 0 } = found?.totp ?? {};
      return found && { enrolledAt, lastUsedAt, recoveryCodes: found.recoveryCodes.length };
    },
    /** A secret for an app, which nothing stores before a code confirms it. */
    newSecret: (): string => new Secret({ size: SECRET_BYTES }).base32,
    appAddress,
    /**
     * Adds an app that has the secret. It replaces an existing one if it may.
     *
     * @returns the recovery codes, or undefined if the code is wrong or used
     */
    async enroll(
      userId: string,
      { secret, mayReplace }: { readonly secret: string; readonly mayReplace: boolean },
      code: string,
    ): Promise<readonly string[] | undefined> {
      if (!(await useTotp(secret, canonicalCode(code)))) {
        return undefined;
      }
      const { codes, recoveryCodes } = newRecoveryCodes(userId);
      const totp = { secret, enrolledAt: seconds(), lastUsedAt: seconds() };
      const isAdded = await change(userId, (existing) =>
        mayReplace || existing === undefined ? { totp, recoveryCodes } : undefined,
      );
      return isAdded ? codes : undefined;
    },
    /**
     * Uses up a code of the app or a recovery code. Undefined if it is wrong, or was used before.
     *
     * @throws StoreUnavailableError
     */
    async use(userId: string, typed: string): Promise<FactorKind | undefined> {
      const factors = await find(userId);
      const code = canonicalCode(typed);
      const hash = hashOf(userId, code);
      const secret = factors?.totp.secret ?? '';
      if (factors !== undefined && (await useTotp(secret, code))) {
        const isUsed = await change(userId, (current) =>
          current?.totp.secret === secret
            ? { ...current, totp: { ...current.totp, lastUsedAt: seconds() } }
            : undefined,
        );
        return isUsed ? 'totp' : undefined;
      }
      if (factors?.recoveryCodes.includes(hash) && (await claim(hash))) {
        const isUsed = await change(userId, (current) =>
          current?.recoveryCodes.includes(hash)
            ? { ...current, recoveryCodes: current.recoveryCodes.filter((each) => each !== hash) }
            : undefined,
        );
        return isUsed ? 'recovery' : undefined;
      }
      return undefined;
    },
    /** Replaces the recovery codes. Undefined if the user has no factor. */
    async renewRecoveryCodes(userId: string): Promise<readonly string[] | undefined> {
      const { codes, recoveryCodes } = newRecoveryCodes(userId);
      const isRenewed = await change(userId, (current) => current && { ...current, recoveryCodes });
      return isRenewed ? codes : undefined;
    },
    /** For a restored backup, in which used ones are valid again. */
    removeRecoveryCodes: (userId: string): Promise<boolean> =>
      change(userId, (current) =>
        current?.recoveryCodes.length ? { ...current, recoveryCodes: [] } : undefined,
      ),
    /** Also if the record is damaged. */
    remove,
  };
}

function createRecords(dependencies: Dependencies) {
  const { find, change, remove } = createSealedRecords<Factors>(
    {
      kind: 'second factor',
      keyOf: factorsKey,
      schema: storedFactors,
      advice: 'Run gatehouse users change --reset-factors.',
    },
    dependencies,
  );
  return {
    find,
    /** @returns whether the record was changed: not if `decide` returns undefined */
    change: async (userId: string, decide: (current: Factors | undefined) => Factors | undefined) =>
      (await change(userId, (current) => decide(current) ?? 'unchanged')) === undefined,
    remove,
  };
}

/** Of any number of callers with the same code, one gets true. */
function createClaims({ store, credentialHash, now }: Dependencies) {
  const claim = (use: string) => claimOnce(store, `factor-used:${use}`, CLAIM_SECONDS);

  return {
    claim,
    async useTotp(secret: string, code: string): Promise<boolean> {
      const timestamp = now();
      const delta = /^\d{6}$/.test(code)
        ? totp(secret).validate({ token: code, timestamp, window: WINDOW })
        : null;
      const step = Math.floor(timestamp / 1000 / PERIOD_SECONDS) + (delta ?? 0);
      return delta !== null && claim(credentialHash(`totp ${secret} ${step}`));
    },
  };
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
