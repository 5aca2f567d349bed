/**
 * The request and response signature of the platform (specification: Method A), for the side that signs
 * and the side that verifies, so that they cannot drift. Pure: no Node import, the digest is injected.
 *
 * text → parseParameters → canonicalText ─┐
 * body bytes ─────────────────────────────┴→ sign / findSigningKey
 *
 * Deliberately not here: who the client is, replay, and how a refusal is worded.
 */
export { AmbiguousText } from './ambiguous-text.ts';
export {
  canonicalText,
  encodeParameters,
  type Parameter,
  parseParameters,
  toParameters,
} from './parameters.ts';
export { findSigningKey, normalizeSignature, type SignatureInput, sign } from './signature.ts';
export type { Digest, SignatureAlgorithm } from './signature-algorithm.ts';
export { type SignedPart, signedPart } from './signed-part.ts';
export { DEFAULT_TIMESTAMP_TOLERANCE_MS, isTimely, parseTimestamp } from './timestamp.ts';
