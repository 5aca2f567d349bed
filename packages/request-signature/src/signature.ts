import { findMatchingKey } from './matching-key.ts';
import type { Digest, SignatureAlgorithm } from './signature-algorithm.ts';

/** What goes into a signature, of a request and of a reply alike. */
export interface SignatureInput {
  readonly algorithm: SignatureAlgorithm;
  /** The canonical parameters, or the body's bytes exactly as they are on the wire. */
  readonly signedText: string | Uint8Array;
  /** The text of X-Timestamp. */
  readonly timestamp: string;
}

/** `hex(digest(signed text + timestamp + secure key))`, lower case (specification: Method A, Signature input). */
export function sign(input: SignatureInput, secureKey: string, digest: Digest): string {
  return digest(input.algorithm, [input.signedText, input.timestamp, secureKey]);
}

/** Finds the secure key that made a signature, in constant time; undefined when none of them did. */
export function findSigningKey(
  input: SignatureInput,
  signature: string,
  secureKeys: readonly string[],
  digest: Digest,
): string | undefined {
  return findMatchingKey(signature, secureKeys, (secureKey) => sign(input, secureKey, digest));
}
