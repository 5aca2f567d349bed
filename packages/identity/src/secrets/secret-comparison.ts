import { hash, timingSafeEqual } from 'node:crypto';

/**
 * The index of `presented` in `secrets`, or -1. The time reveals neither the length of a secret,
 * because digests are compared, nor the index, because all secrets are compared.
 */
export function findMatchingSecret(presented: string, secrets: readonly string[]): number {
  const digest = hash('sha256', presented, 'buffer');
  let found = -1;
  for (const [index, secret] of secrets.entries()) {
    const matches = timingSafeEqual(digest, hash('sha256', secret, 'buffer'));
    found = matches ? index : found;
  }
  return found;
}
