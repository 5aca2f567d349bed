import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { deriveKey, type MasterKey } from './master-key.ts';

/** Encrypts what must be recoverable at rest: secureKeys, signing keys, payloads that carry secrets. */
export interface Sealer {
  /** @param context what the text belongs to; opening it for anything else fails */
  seal(text: string, context: string): string;
  /** @throws Error when the text was altered, belongs elsewhere, or the master key is another one */
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
      // Node skips what is not base64url, so that one sealed text would have many spellings.
      const isWhole = rest.length === 0 && bytes.toString('base64url') === encoded;
      if (version !== VERSION || !isWhole || bytes.length < NONCE_BYTES + TAG_BYTES) {
        throw new Error('This is not a sealed text.');
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
        const reason = 'it was altered, belongs elsewhere, or the master key is another one';
        throw new Error(`A sealed text cannot be opened: ${reason}.`, { cause });
      }
    },
  };
}
