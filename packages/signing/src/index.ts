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
export {
  type DiagnosisDigests,
  type DiagnosisKeys,
  diagnoseSignature,
  type FailedRequest,
  malformedSignature,
} from './diagnosis/diagnose-signature.ts';
export { explainedFailure, explanationOf } from './reading/explained-failure.ts';
export { nodeDigest, nodeHmac } from './reading/node-digest.ts';
export {
  type CredentialKind,
  credentialKinds,
  isClientId,
  type PresentedBearer,
  type PresentedCredential,
  type PresentedSignature,
  presentedCredential,
  splitQueryToken,
} from './reading/presented-credential.ts';
export {
  type CredentialMistake,
  isBearer,
  type PresentedToken,
  readBearerToken,
  readQueryToken,
  readXAccessToken,
  type SimilarHeader,
  similarHeader,
  unknownTokenMistake,
} from './reading/presented-token.ts';
export {
  assertReadableQuery,
  parseRequestTarget,
  type RequestTarget,
} from './reading/request-target.ts';
export {
  assertNotReplyEnvelope,
  coveredPart,
  isSuccessReply,
  mayBeReply,
  type SignedBody,
  type SignedText,
  signedBody,
  signedQuery,
} from './reading/signed-text.ts';
export {
  DEFAULT_TIMESTAMP_TOLERANCE_MILLISECONDS,
  type Digest,
  findLinesKey,
  findSigningKey,
  type Hmac,
  isTimely,
  normalizeSignature,
  parseTimestamp,
  type SignatureAlgorithm,
  type SignatureInput,
  sign,
  signLines,
} from './signature.ts';
export {
  isNonce,
  type ReplyToSign,
  type RequestToSign,
  replyLines,
  requestLines,
} from './signed-lines.ts';
export {
  type AmbiguityReason,
  AmbiguousTextError,
  canonicalText,
  encodeParameters,
  type Parameter,
  parseParameters,
  type SignedPart,
  signedPart,
  toParameters,
} from './version-1-text.ts';
