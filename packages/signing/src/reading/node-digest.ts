import { createHash, createHmac, hash } from 'node:crypto';
import type { Digest, Hmac } from '../signature.ts';

const JOINED_BYTES = 16 * 1024;

const names = { MD5: 'md5', 'SHA-256': 'sha256' } as const;

/** The digest of request signatures, computed by Node. */
export const nodeDigest: Digest = (algorithm, parts) => {
  const name = names[algorithm];
  if (parts.every((part) => typeof part === 'string')) {
    return hash(name, parts.join(''), 'hex');
  }
  const size = parts.reduce((sum, part) => sum + part.length, 0);
  if (size <= JOINED_BYTES) {
    // One call into OpenSSL is faster than three, even with a copy of a small body.
    const bytes = parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part));
    return hash(name, Buffer.concat(bytes), 'hex');
  }
  const running = createHash(name);
  for (const part of parts) {
    running.update(part);
  }
  return running.digest('hex');
};

export const nodeHmac: Hmac = (secureKey, text) =>
  createHmac('sha256', secureKey).update(text).digest('hex');
