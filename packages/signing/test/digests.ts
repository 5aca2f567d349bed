import { createHash, createHmac } from 'node:crypto';
import {
  type Digest,
  findMatchingKey,
  type Hmac,
  type SignatureInput,
  sign,
} from '../src/signature.ts';

export const digest: Digest = (algorithm, parts) => {
  const hash = createHash(algorithm === 'MD5' ? 'md5' : 'sha256');
  for (const part of parts) {
    hash.update(part);
  }
  return hash.digest('hex');
};

export const hmac: Hmac = (secureKey, text) =>
  createHmac('sha256', secureKey).update(text).digest('hex');

/** The key that made a signature of version 1. */
export const findSigningKey = (
  input: SignatureInput,
  signature: string,
  secureKeys: readonly string[],
) => findMatchingKey(signature, secureKeys, (secureKey) => sign(input, secureKey, digest));
