import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { deriveKey, type MasterKey } from './master-key.ts';

/** Encrypts secure keys, signing keys and payloads with secrets for the store. */
export interface Sealer {
  /** @param context the record that the text belongs to. Decryption with another context fails */
  seal(text: string, context: string): string;
  /** @throws Error if the text was changed, or the context or master key is different */
  open(sealed: string, context: string): string;
}

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const VERSION = 'v1';

export function createSealer(masterKey: MasterKey): Sealer {
  const key = deriveKey(masterKey, 'seal');
  return {
    seal(text, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return `${VERSION}.${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')}`;
    },
    open(sealed, context) {
      const [version, encoded = '', ...rest] = sealed.split('.');
      const bytes = Buffer.from(encoded, 'base64url');
      // Node ignores characters that are not base64url. Reject them, so that each text has one
      // form.
      const isWhole = rest.length === 0 && bytes.toString('base64url') === encoded;
      if (version !== VERSION || !isWhole || bytes.length < NONCE_BYTES + TAG_BYTES) {
        throw new Error('The text is not encrypted by Gatehouse.');
      }
      const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
        .setAAD(Buffer.from(context))
        .setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      const body = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES));
      try {
        return Buffer.concat([body, decipher.final()]).toString('utf8');
      } catch (cause) {
        const reason = 'it was changed, or its context or master key is different';
        throw new Error(`An encrypted text cannot be decrypted: ${reason}.`, { cause });
      }
    },
  };
}
