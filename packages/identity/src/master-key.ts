import { hkdfSync, randomBytes } from 'node:crypto';
import { ConfigurationError, readOrCreateSecretFile } from '@gatehouse/configuration';

/** 32 random bytes outside the store, from which every other key is derived. */
export type MasterKey = Buffer;

const KEY_BYTES = 32;

/**
 * Reads the master key (64 hexadecimal digits). With `create`, a missing file is made, mode 0600: the
 * embedded default. Without, a missing file is the operator's mistake.
 */
export function loadMasterKey(path: string, create: boolean): MasterKey {
  const text = readOrCreateSecretFile(path, () => {
    if (!create) {
      throw new ConfigurationError([{ name: 'MASTER_KEY_FILE', message: `${path} is missing` }]);
    }
    return `${randomBytes(KEY_BYTES).toString('hex')}\n`;
  }).trim();
  if (!/^[0-9a-f]{64}$/i.test(text)) {
    throw new ConfigurationError([
      { name: 'MASTER_KEY_FILE', message: `${path} must hold 64 hexadecimal digits` },
    ]);
  }
  return Buffer.from(text, 'hex');
}

/** HKDF-SHA-256 (RFC 5869): one key per purpose, so that no two uses share one. */
export function deriveKey(masterKey: MasterKey, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', masterKey, '', `gatehouse:${purpose}`, KEY_BYTES));
}
