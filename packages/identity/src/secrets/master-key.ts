import { createHash, createSecretKey, hkdfSync } from 'node:crypto';

/**
 * The key outside the store from which all other keys are derived: 32 random bytes, or the keys of
 * a file that operators can rotate while the process runs (`master-key-file.ts`).
 */
export type MasterKey = Buffer | MasterKeys;

/** Keys of one purpose. */
export interface RotatedKeys {
  /** The first key encrypts. All of them decrypt. */
  keys(): readonly [Buffer, ...Buffer[]];
  /** Reads the keys again. Returns whether they changed. */
  refresh(): boolean;
}

export interface MasterKeys extends RotatedKeys {
  /** The derived keys that a rotation keeps. */
  readonly lasting: Readonly<Record<LastingPurpose, Buffer>>;
  /** Reports once each changed file that the process cannot use. It continues with the old keys. */
  onUnusable(report: (problem: string) => void): void;
}

/**
 * Processes must agree on these at every moment, because they decide which record belongs to a
 * credential. A rotation therefore keeps them (docs/decisions/18-key-rotation.md).
 */
export const lastingPurposes = ['credential-pepper', 'refresh-successor'] as const;

export type LastingPurpose = (typeof lastingPurposes)[number];
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

/** The keys of one purpose, which change together with the master keys. */
export function deriveKeys(masterKey: MasterKey, purpose: string): RotatedKeys {
  const { keys, refresh } = toRotatedKeys(masterKey);
  return {
    keys: () => {
      const [first, ...others] = keys();
      return [deriveKey(first, purpose), ...others.map((key) => deriveKey(key, purpose))];
    },
    refresh,
  };
}

export function toRotatedKeys(key: Buffer | RotatedKeys): RotatedKeys {
  return Buffer.isBuffer(key) ? { keys: () => [key], refresh: () => false } : key;
}

/** The key of a purpose that outlives rotations. */
export function lastingKey(masterKey: MasterKey, purpose: LastingPurpose): Buffer {
  return Buffer.isBuffer(masterKey) ? deriveKey(masterKey, purpose) : masterKey.lasting[purpose];
}

/** Identifies a key in messages. Reveals nothing about the key. */
export function masterKeyId(key: Buffer): string {
  return createHash('sha256').update(deriveKey(key, 'key-id')).digest('hex').slice(0, 8);
}
