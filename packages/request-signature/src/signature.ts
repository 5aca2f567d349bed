import type { Digest, SignatureAlgorithm } from './signature-algorithm.ts';

/** What goes into a signature, of a request and of a reply alike. */
export interface SignatureInput {
  readonly algorithm: SignatureAlgorithm;
  /** The canonical parameters, or the body's bytes exactly as they are on the wire. */
  readonly signedText: string | Uint8Array;
  /** The text of X-Timestamp. */
  readonly timestamp: string;
}

const HEX = /^[0-9a-f]+$/;

/** `hex(digest(signed text + timestamp + secure key))`, lower case (specification: Method A, Signature input). */
export function sign(input: SignatureInput, secureKey: string, digest: Digest): string {
  return digest(input.algorithm, [input.signedText, input.timestamp, secureKey]);
}

/**
 * Finds the secure key that made a signature. Hex in any case is accepted; anything else matches nothing
 * and costs the same work, so that neither the length nor the form of a guess shows in the time it takes.
 *
 * @returns the key, or undefined when none of them made it
 */
export function findSigningKey(
  input: SignatureInput,
  signature: string,
  secureKeys: readonly string[],
  digest: Digest,
): string | undefined {
  const presented = normalizeSignature(signature);
  return secureKeys.find((secureKey) => equalHex(sign(input, secureKey, digest), presented));
}

/** Lower case: a replay in another case is the same signature. */
export function normalizeSignature(signature: string): string {
  return signature.toLowerCase();
}

/** Constant in time for the length of `expected`, whatever `presented` is; never throws. */
function equalHex(expected: string, presented: string): boolean {
  let difference = expected.length ^ presented.length;
  for (let index = 0; index < expected.length; index += 1) {
    // Past the end of `presented` charCodeAt is NaN, which counts as 0.
    difference |= expected.charCodeAt(index) ^ presented.charCodeAt(index);
  }
  return difference === 0 && HEX.test(presented);
}
