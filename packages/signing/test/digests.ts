import { createHash, createHmac } from 'node:crypto';
import type { Digest } from '../src/index.ts';
import type { Hmac } from '../src/signature.ts';

export const digest: Digest = (algorithm, parts) => {
  const hash = createHash(algorithm === 'MD5' ? 'md5' : 'sha256');
  for (const part of parts) {
    hash.update(part);
  }
  return hash.digest('hex');
};

export const hmac: Hmac = (secureKey, text) =>
  createHmac('sha256', secureKey).update(text).digest('hex');
