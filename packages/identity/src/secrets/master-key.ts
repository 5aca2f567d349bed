import { createHash, createSecretKey, hkdfSync } from 'node:crypto';

/**
 * The key outside the store from which all other keys are derived: 32 random bytes, or the keys of
 * a file that operators can rotate while the process runs (`master-key-file.ts`).
 */
export type MasterKey = Buffer | MasterKeys;

export interface MasterKeys {
  /** The first key encrypts. All of them decrypt. */
  keys(): readonly [Buffer, ...Buffer[]];
  /** Reads the keys again. Returns whether they changed. */
  refresh(): boolean;
  /** The derived keys that a rotation keeps. */
  readonly lasting: LastingKeys;
  /** Reports once each changed file that the process cannot use. It continues with the old keys. */
  onUnusable?(report: (problem: string) => void): void;
}

/**
 * Processes must agree on these at every moment, because they decide which record belongs to a
 * credential. A rotation therefore keeps them (docs/decisions/18-key-rotation.md).
 */
export const lastingPurposes = ['credential-pepper', 'refresh-successor'] as const;

export type LastingPurpose = (typeof lastingPurposes)[number];
export type LastingKeys = Readonly<Partial<Record<LastingPurpose, Buffer>>>;

export const KEY_BYTES = 32;

/**
 * HKDF-SHA-256 (RFC 5869), with a different key for each purpose.
 *
 * Node needs 7 to 13 µs longer for a key in a Buffer than for one that createSecretKey() imported,
 * here and in ciphers and HMACs. The import takes 1 µs (bench/sign-in/README.md).
 */
export function deriveKey(key: Buffer, purpose: string): Buffer {
  const imported = createSecretKey(key);
  return Buffer.from(hkdfSync('sha256', imported, '', `gatehouse:${purpose}`, KEY_BYTES));
}

export function toMasterKeys(masterKey: MasterKey): MasterKeys {
  return Buffer.isBuffer(masterKey)
    ? { keys: () => [masterKey], refresh: () => false, lasting: {} }
    : masterKey;
}

/** The keys of one purpose, which change together with the master keys. */
export function deriveKeys(masterKey: MasterKey, purpose: string): MasterKeys {
  const { keys, refresh } = toMasterKeys(masterKey);
  return {
    keys: () => {
      const [first, ...others] = keys();
      return [deriveKey(first, purpose), ...others.map((key) => deriveKey(key, purpose))];
    },
    refresh,
    lasting: {},
  };
}

/** The key of a purpose that outlives rotations. */
export function lastingKey(masterKey: MasterKey, purpose: LastingPurpose): Buffer {
  const masterKeys = toMasterKeys(masterKey);
  // The call can read the file again, so `lasting` comes after it, from the same content.
  const [current] = masterKeys.keys();
  return lastingKeyOf({ current, lasting: masterKeys.lasting }, purpose);
}

/** The same for the content of a key file. */
export function lastingKeyOf(
  { current, lasting }: { readonly current: Buffer; readonly lasting: LastingKeys },
  purpose: LastingPurpose,
): Buffer {
  return lasting[purpose] ?? deriveKey(current, purpose);
}

/** Identifies a key in messages. Reveals nothing about the key. */
export function masterKeyId(key: Buffer): string {
  return createHash('sha256').update(deriveKey(key, 'key-id')).digest('hex').slice(0, 8);
}
