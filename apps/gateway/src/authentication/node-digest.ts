import { createHash, hash } from 'node:crypto';
import type { Digest } from '@gatehouse/request-signature';

const names = { MD5: 'md5', 'SHA-256': 'sha256' } as const;

/** The digest of request signatures, by Node's own crypto. */
export const nodeDigest: Digest = (algorithm, parts) => {
  const name = names[algorithm];
  if (parts.every((part) => typeof part === 'string')) {
    return hash(name, parts.join(''), 'hex');
  }
  const running = createHash(name);
  for (const part of parts) {
    running.update(part);
  }
  return running.digest('hex');
};
