import { readFileSync } from 'node:fs';

interface SignatureVector {
  readonly name: string;
  readonly version: 1 | 2;
  /** Version 1 only. */
  readonly digest?: 'MD5' | 'SHA-256';
  readonly secureKey: string;
  /** Base64. */
  readonly body: string;
  /** Version 2 only. */
  readonly nonce?: string;
}

export interface RequestVector extends SignatureVector {
  readonly clientId: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly contentType: string;
  readonly timestamp: string;
  /** The right signature. Null if a signer must not sign the request. */
  readonly signature: string | null;
}

/** A request that the gateway rejects, and the reply. */
export interface RefusedRequestVector extends RequestVector {
  /** A secure key that the client had before. */
  readonly removedKey?: string;
  /** The time at the gateway, in epoch milliseconds. */
  readonly clock: number;
  /** The gateway accepts the first of two equal requests. */
  readonly sentTwice?: boolean;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly status: number;
  readonly code: string;
  /** A name in `packages/errors`. */
  readonly reason: string;
}

export interface ReplyVector extends SignatureVector {
  readonly requestTimestamp: string;
  readonly status: number;
  /** Null if the header is missing. */
  readonly timestamp: string | null;
  readonly signature: string | null;
  readonly isValid: boolean;
}

/** The test vectors that all signers share: `examples/signers/vectors.json`. */
export const signatureVectors: {
  readonly requests: readonly RequestVector[];
  readonly refusedRequests: readonly RefusedRequestVector[];
  readonly replies: readonly ReplyVector[];
} = JSON.parse(
  readFileSync(new URL('../../../../examples/signers/vectors.json', import.meta.url), 'utf8'),
);
