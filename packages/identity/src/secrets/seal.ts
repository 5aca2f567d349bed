import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { memoized, type RecordDependencies } from '../records/record.ts';
import type { CredentialHash } from './credential-keys.ts';
import { deriveKey, type RotatedKeys, toRotatedKeys } from './master-key.ts';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const VERSION = 'v1';

export type Sealer = ReturnType<typeof createSealer>;

/** What those need who keep secrets in records. */
export interface SecretDependencies extends RecordDependencies {
  readonly sealer: Sealer;
  readonly credentialHash: CredentialHash;
}

/**
 * Encrypts secure keys, signing keys and payloads with secrets for the store. The first master key
 * encrypts, and each of them decrypts.
 */
export function createSealer(masterKey: Buffer | RotatedKeys) {
  const { keys, refresh } = toRotatedKeys(masterKey);
  const sealKey = memoized((key: Buffer) => createSecretKey(deriveKey(key, 'seal')));
  const openWithAnyKey = (bytes: Buffer, context: string) => {
    for (const key of keys()) {
      const text = decrypt(bytes, context, sealKey(key));
      if (text !== undefined) {
        return text;
      }
    }
    return undefined;
  };

  function tryOpen(sealed: string, context: string): string | undefined {
    const [version, encoded = '', ...rest] = sealed.split('.');
    const bytes = Buffer.from(encoded, 'base64url');
    // Node ignores characters that are not base64url. Reject them, so that each text has one form.
    const isWhole = rest.length === 0 && bytes.toString('base64url') === encoded;
    if (version !== VERSION || !isWhole || bytes.length < NONCE_BYTES + TAG_BYTES) {
      return undefined;
    }
    const opened = openWithAnyKey(bytes, context);
    // Another process may have encrypted it with a key that this one has not read yet.
    return opened ?? (refresh() ? openWithAnyKey(bytes, context) : undefined);
  }

  return {
    /** @param context the record that the text belongs to. Decryption with another context fails */
    seal(text: string, context: string): string {
      const nonce = randomBytes(NONCE_BYTES);
      const key = sealKey(keys()[0]);
      const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return `${VERSION}.${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')}`;
    },
    /** Undefined if the text was changed, or the context or master key is different. */
    tryOpen,
    /** Like `tryOpen`, but throws an Error instead of returning undefined. */
    open(sealed: string, context: string): string {
      const text = tryOpen(sealed, context);
      if (text === undefined) {
        const reason = 'it was changed, or its context or master key is different';
        throw new Error(`An encrypted text cannot be decrypted: ${reason}.`);
      }
      return text;
    },
  };
}

function decrypt(bytes: Buffer, context: string, key: KeyObject): string | undefined {
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
    .setAAD(Buffer.from(context))
    .setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  const body = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES));
  try {
    return Buffer.concat([body, decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}
