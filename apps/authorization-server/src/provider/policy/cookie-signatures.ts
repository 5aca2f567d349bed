import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';

/**
 * Signs the provider's cookies as Keygrip does, the library's default: HMAC-SHA-1 in base64url, with
 * the first key. Keygrip imports a key for each signature, and compares two signatures by two more
 * HMACs. Those were 4 % of the time of a sign-in (bench/sign-in/README.md).
 */
export function createCookieSignatures(keys: readonly string[]) {
  const imported = keys.map((key) => createSecretKey(key, 'utf8'));
  const signatures = (data: string) =>
    imported.map((key) => createHmac('sha1', key).update(data).digest('base64url'));

  /** The key that signed, or -1. The library signs again if it is not the first one. */
  function index(data: string, presented: string): number {
    const given = Buffer.from(presented);
    return signatures(data).findIndex((signature) => {
      const expected = Buffer.from(signature);
      return given.length === expected.length && timingSafeEqual(given, expected);
    });
  }

  return {
    sign: (data: string) => String(signatures(data)[0]),
    index,
    verify: (data: string, presented: string) => index(data, presented) >= 0,
  };
}
