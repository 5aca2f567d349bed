import type { Digest, Hmac, SignatureAlgorithm } from '../signature.ts';
import type { SigningMistake } from './signing-mistake.ts';

/** Computes a signature as a signer with known mistakes would. */
export interface Attempt {
  readonly mistakes: readonly SigningMistake[];
  /** The keys to try. `none`: the signature does not depend on a key. */
  readonly keys: 'newest' | 'older' | 'removed' | 'none';
  /** The digests for each key, and the bytes that they cover without the key. */
  readonly digests: number;
  readonly bytes: number;
  sign(key: string): string;
}

export interface DiagnosisDigests {
  readonly digest: Digest;
  readonly hmac: Hmac;
}

export interface DigestsOfSignature extends DiagnosisDigests {
  /** The digest whose length the signature has. */
  readonly algorithm: SignatureAlgorithm;
}

export function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
