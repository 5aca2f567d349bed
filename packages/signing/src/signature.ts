/**
 * The signatures of both versions over their texts, and the comparison in constant time. Callers pass
 * the digest.
 */

/** The client's setting. Requests cannot choose another algorithm. */
export type SignatureAlgorithm = 'MD5' | 'SHA-256';

/**
 * The digest of the concatenated parts in lower-case hexadecimal. Text is encoded as UTF-8. Servers
 * and browsers have different implementations.
 */
export type Digest = (
  algorithm: SignatureAlgorithm,
  parts: readonly (string | Uint8Array)[],
) => string;

/**
 * HMAC-SHA-256 (RFC 2104) in lower-case hexadecimal. Key and text are encoded as UTF-8. That of the
 * lines of version 2 is `X-Sign-V2`.
 */
export type Hmac = (secureKey: string, text: string) => string;

/** The input of a version 1 signature of a request or reply. */
export interface SignatureInput {
  readonly algorithm: SignatureAlgorithm;
  /** The canonical parameters, or the bytes of the body as sent. */
  readonly signedText: string | Uint8Array;
  /** The value of `X-Timestamp`. */
  readonly timestamp: string;
}

/** `X-Sign`: `hex(digest(signed text + timestamp + secure key))` in lower case. */
export function sign(
  { algorithm, signedText, timestamp }: SignatureInput,
  secureKey: string,
  digest: Digest,
): string {
  return digest(algorithm, [signedText, timestamp, secureKey]);
}

/**
 * Finds the secure key that made a signature, comparing in constant time. Hexadecimal digits of
 * either case match. The time does not depend on the length or form of a wrong signature.
 *
 * @param signWith returns the signature with a key, in lower case
 */
export function findMatchingKey(
  signature: string,
  secureKeys: readonly string[],
  signWith: (secureKey: string) => string,
): string | undefined {
  const presented = signature.toLowerCase();
  return secureKeys.find((secureKey) => equalHex(signWith(secureKey), presented));
}

/** The time depends only on the length of `expected`. Never throws. */
function equalHex(expected: string, presented: string): boolean {
  let difference = expected.length ^ presented.length;
  for (let index = 0; index < expected.length; index += 1) {
    // After the end of `presented`, charCodeAt returns NaN, which `^` treats as 0.
    difference |= expected.charCodeAt(index) ^ presented.charCodeAt(index);
  }
  return difference === 0;
}

const DEFAULT_TIMESTAMP_TOLERANCE_MILLISECONDS = 300 * 1000;

/**
 * Exactly 13 digits without a leading zero. Nothing separates the signed text from the timestamp,
 * so `pageSize=20` + `1574993804802` and `pageSize=2` + `01574993804802` would have the same
 * signature.
 */
const TIMESTAMP = /^[1-9][0-9]{12}$/;

/** The epoch milliseconds in an `X-Timestamp`, or undefined if it is malformed. */
export function parseTimestamp(text: string): number | undefined {
  return TIMESTAMP.test(text) ? Number(text) : undefined;
}

/** Whether a timestamp differs from the verifier's clock by at most the tolerance. */
export function isTimely(
  timestamp: number,
  now: number,
  toleranceMilliseconds: number = DEFAULT_TIMESTAMP_TOLERANCE_MILLISECONDS,
): boolean {
  return Math.abs(timestamp - now) <= toleranceMilliseconds;
}
