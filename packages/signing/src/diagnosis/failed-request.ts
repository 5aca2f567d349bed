import type { SignatureAlgorithm } from '../signature.ts';

/** A request whose signature is wrong, exactly as it was sent. */
export interface FailedRequest {
  readonly version: 1 | 2;
  /** The value of X-Sign or X-Sign-V2. */
  readonly signature: string;
  /** In upper case. */
  readonly method: string;
  /** Percent-encoded as sent, without host and query. */
  readonly path: string;
  /** Percent-encoded as sent, without `?`. */
  readonly query: string;
  /** Empty if absent. */
  readonly contentType: string;
  /** Empty if absent. */
  readonly body: Uint8Array;
  readonly clientId: string;
  readonly timestamp: string;
  /** The value of X-Nonce, also in version 1. Empty if absent. */
  readonly nonce: string;
}

/**
 * The keys to try. A verifier pads both lists, so that their lengths do not depend on the client.
 */
export interface DiagnosisKeys {
  /** Newest first. */
  readonly active: readonly string[];
  /** Keys that are no longer accepted. */
  readonly removed: readonly string[];
  /** The digest of the client in version 1. Undefined: the client may use only version 2. */
  readonly algorithm: SignatureAlgorithm | undefined;
}
