import { hkdfSync, randomBytes } from 'node:crypto';
import { ConfigurationError, readOrCreateSecretFile } from '@gatehouse/configuration';

/** 32 random bytes outside the store. All other keys are derived from it. */
export type MasterKey = Buffer;

const KEY_BYTES = 32;

/**
 * Reads the master key (64 hexadecimal digits).
 *
 * @param create creates a missing file with mode 0600
 * @throws ConfigurationError
 */
export function loadMasterKey(path: string, create: boolean): MasterKey {
  const text = readKeyFile(path, create).trim();
  if (!/^[0-9a-f]{64}$/i.test(text)) {
    throw refusal('names a file that does not contain 64 hexadecimal digits');
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
      : refusal(`names a file that cannot be read${create ? ' or created' : ''}`);
  }
}

/** Does not quote the path, because an operator may set the variable to the key itself (CF-07). */
function refusal(message: string): ConfigurationError {
  return new ConfigurationError([{ name: 'MASTER_KEY_FILE', message }]);
}

/** HKDF-SHA-256 (RFC 5869), with a different key for each purpose. */
export function deriveKey(masterKey: MasterKey, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', masterKey, '', `gatehouse:${purpose}`, KEY_BYTES));
}
