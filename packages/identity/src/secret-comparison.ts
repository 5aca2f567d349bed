import { hash, timingSafeEqual } from 'node:crypto';

/**
 * Whether `presented` is one of `secrets`, in a time that depends on neither. Digests are compared, so that
 * lengths do not show, and every candidate is looked at, so that the position of a match does not either.
 */
export function matchesAnySecret(presented: string, secrets: readonly string[]): boolean {
  const digest = hash('sha256', presented, 'buffer');
  let matches = false;
  for (const secret of secrets) {
    matches = timingSafeEqual(digest, hash('sha256', secret, 'buffer')) || matches;
  }
  return matches;
}
