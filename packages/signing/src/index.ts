/**
 * The signatures of requests and replies (docs/signing.md). Signer and verifier share this code. It
 * imports nothing from Node: callers pass the digest.
 *
 * version 1  text → parseParameters → canonicalText ─┐
 *            body bytes ─────────────────────────────┴→ sign / findMatchingKey
 * version 2  request → requestLines ─┐
 *            reply → replyLines ─────┴→ HMAC / findMatchingKey
 *
 * Not here: finding the client, rejecting replays, and error replies.
 */
export {
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
  isBearer,
  readBearerToken,
  readQueryToken,
  readXAccessToken,
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
  signedBody,
  signedQuery,
} from './reading/signed-text.ts';
export {
  type Digest,
  findMatchingKey,
  isTimely,
  parseTimestamp,
  type SignatureAlgorithm,
  sign,
} from './signature.ts';
export {
  isNonce,
  replyLines,
  requestLines,
} from './signed-lines.ts';
export {
  AmbiguousTextError,
  canonicalText,
  encodeParameters,
  parseParameters,
  signedPart,
} from './version-1-text.ts';
