import { findMatchingKey } from './matching-key.ts';
import type { Hmac } from './signature-algorithm.ts';

/** `X-Sign-V2`: `hex(HMAC-SHA-256(secure key, lines))` in lower case. */
export function signLines(lines: string, secureKey: string, hmac: Hmac): string {
  return hmac(secureKey, lines);
}

/** Finds the secure key that made an `X-Sign-V2`, comparing in constant time. */
export function findLinesKey(
  lines: string,
  signature: string,
  secureKeys: readonly string[],
  hmac: Hmac,
): string | undefined {
  return findMatchingKey(signature, secureKeys, (secureKey) => signLines(lines, secureKey, hmac));
}
