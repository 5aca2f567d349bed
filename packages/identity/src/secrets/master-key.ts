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
  const text = readKeyFile(path, create).trim();
  if (!/^[0-9a-f]{64}$/i.test(text)) {
    throw refusal('names a file that does not hold 64 hexadecimal digits');
  }
  return Buffer.from(text, 'hex');
}

function readKeyFile(path: string, create: boolean): string {
  try {
    return readOrCreateSecretFile(path, () => {
      if (!create) {
        throw refusal('names a file that does not exist');
      }
      return `${randomBytes(KEY_BYTES).toString('hex')}\n`;
    });
  } catch (error) {
    throw error instanceof ConfigurationError
      ? error
      : refusal(`names a file that cannot be read${create ? ' or made' : ''}`);
  }
}

/** Does not quote the path: it may be the key itself, put where the name of its file belongs (CF-07). */
function refusal(message: string): ConfigurationError {
  return new ConfigurationError([{ name: 'MASTER_KEY_FILE', message }]);
}

/** HKDF-SHA-256 (RFC 5869): one key per purpose, so that no two uses share one. */
export function deriveKey(masterKey: MasterKey, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', masterKey, '', `gatehouse:${purpose}`, KEY_BYTES));
}
