import { findMatchingKey } from './matching-key.ts';
import type { Digest, SignatureAlgorithm } from './signature-algorithm.ts';

/** The input of a version 1 signature of a request or reply. */
export interface SignatureInput {
  readonly algorithm: SignatureAlgorithm;
  /** The canonical parameters, or the bytes of the body as sent. */
  readonly signedText: string | Uint8Array;
  /** The value of `X-Timestamp`. */
  readonly timestamp: string;
}

/** What the digest of version 1 covers, in this order. */
export function digestedParts(
  { signedText, timestamp }: SignatureInput,
  secureKey: string,
): readonly (string | Uint8Array)[] {
  return [signedText, timestamp, secureKey];
}

/** `X-Sign`: `hex(digest(signed text + timestamp + secure key))` in lower case. */
export function sign(input: SignatureInput, secureKey: string, digest: Digest): string {
  return digest(input.algorithm, digestedParts(input, secureKey));
}

/** Finds the secure key that made an `X-Sign`, comparing in constant time. */
export function findSigningKey(
  input: SignatureInput,
  signature: string,
  secureKeys: readonly string[],
  digest: Digest,
): string | undefined {
  return findMatchingKey(signature, secureKeys, (secureKey) => sign(input, secureKey, digest));
}
