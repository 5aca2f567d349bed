/**
 * The signatures of requests and replies (docs/signing.md). Signer and verifier share this code. It
 * imports nothing from Node: callers pass the digest.
 *
 * version 1  text → parseParameters → canonicalText ─┐
 *            body bytes ─────────────────────────────┴→ sign / findSigningKey
 * version 2  request → requestLines ─┐
 *            reply → replyLines ─────┴→ signLines / findLinesKey
 *
 * Not here: finding the client, rejecting replays, and error replies.
 */
export { type AmbiguityReason, AmbiguousTextError } from './ambiguous-text-error.ts';
export {
  type DiagnosisDigests,
  type DiagnosisKeys,
  diagnoseSignature,
  type FailedRequest,
} from './diagnosis/diagnose-signature.ts';
export { malformedSignature } from './diagnosis/malformed-signature.ts';
export { normalizeSignature } from './matching-key.ts';
export {
  canonicalText,
  encodeParameters,
  type Parameter,
  parseParameters,
  toParameters,
} from './parameters.ts';
export { assertNotReplyEnvelope } from './reading/assert-not-reply-envelope.ts';
export { isClientId } from './reading/client-id.ts';
export { explainedFailure, explanationOf } from './reading/explained-failure.ts';
export { nodeDigest, nodeHmac } from './reading/node-digest.ts';
export {
  isPresent,
  type PresentedCredentials,
  type PresentedSignature,
  presentedCredentials,
} from './reading/presented-credentials.ts';
export {
  type CredentialMistake,
  isBearer,
  type PresentedToken,
  readBearerToken,
  readQueryToken,
  readXAccessToken,
  unknownTokenMistake,
} from './reading/presented-token.ts';
export { splitQueryToken } from './reading/query-token.ts';
export {
  assertReadableQuery,
  parseRequestTarget,
  type RequestTarget,
} from './reading/request-target.ts';
export {
  coveredPart,
  type SignedBody,
  type SignedText,
  signedBody,
  signedQuery,
} from './reading/signed-text.ts';
export { type SimilarHeader, similarHeader } from './reading/similar-header.ts';
export { findSigningKey, type SignatureInput, sign } from './signature.ts';
export type { Digest, Hmac, SignatureAlgorithm } from './signature-algorithm.ts';
export { findLinesKey, signLines } from './signature-v2.ts';
export {
  isNonce,
  type ReplyToSign,
  type RequestToSign,
  replyLines,
  requestLines,
} from './signed-lines.ts';
export { type SignedPart, signedPart } from './signed-part.ts';
export {
  DEFAULT_TIMESTAMP_TOLERANCE_MILLISECONDS,
  isTimely,
  parseTimestamp,
} from './timestamp.ts';
