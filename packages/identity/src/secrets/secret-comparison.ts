import { hash, timingSafeEqual } from 'node:crypto';

/**
 * The position of `presented` among `secrets`, or -1, in a time that depends on neither. Digests are compared, so
 * that lengths do not show, and every candidate is looked at, so that the position of a match does not either.
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
